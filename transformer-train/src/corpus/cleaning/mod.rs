//! [`Cleaning`]: the pairs of a corpus that are left out, because their sides do not translate each other.
//!
//! The rules need no settings: what is usual, such as the languages and the ratio of lengths, is learned from a sample.

mod judge;
#[cfg(test)]
mod tests;

use rayon::prelude::*;
use transformer_core::text::{LanguageCode, printable};

use self::judge::{Defect, Judge};
use crate::config::Empty;
use crate::corpus::ParallelText;
use crate::corpus::encode::{ReadPair, empty_side, next_chunk};
use crate::corpus::fingerprint::SeenPairs;
use crate::error::TrainError;

/// The version of the rules: text that is stored was cleaned by one of them.
pub(crate) const CLEANING_RULES: u32 = 1;

/// Number of pairs from which the usual languages and lengths are learned.
const N_SAMPLED: usize = 5000;

#[derive(Clone, Debug)]
pub(crate) struct Cleaning {
    text: ParallelText,
    n_read: u64,
    languages: [Option<&'static str>; 2],
    /// The indices of the pairs that are left out, ascending, with the reasons.
    dropped: Vec<(u64, Defect)>,
    examples: Vec<(Defect, u64, (String, String))>,
}

impl Cleaning {
    /// Finds the pairs to leave out of one corpus, which is read twice. `languages` are those of the source and of the
    /// target, as far as they are given.
    pub(crate) fn of(
        text: ParallelText,
        languages: [Option<&LanguageCode>; 2],
        seed: u64,
    ) -> Result<Self, TrainError> {
        let judge = Judge::new(&text.sample(N_SAMPLED, seed)?, languages);
        let mut cleaning = Self {
            languages: judge.languages(),
            text,
            n_read: 0,
            dropped: Vec::new(),
            examples: Vec::new(),
        };
        let mut seen = SeenPairs::default();
        let mut pairs = cleaning.text.pairs()?;
        loop {
            let mut chunk = next_chunk(&mut pairs, Empty::Drop)?;
            if chunk.is_empty() {
                break;
            }
            cleaning.n_read += chunk.len() as u64;
            // The filters count blank lines, or refuse them.
            chunk.retain(|read| empty_side(&read.pair).is_none());
            let judged = chunk.into_par_iter().map(|ReadPair { line, pair, .. }| {
                let defect = judge.defect(&pair.0, &pair.1);
                (line - 1, defect, pair)
            });
            for (index, defect, pair) in judged.collect::<Vec<_>>() {
                let is_new = seen.insert(&pair);
                if let Some(defect) = defect.or((!is_new).then_some(Defect::Identical)) {
                    cleaning.leave_out(index, defect, pair);
                }
            }
        }
        drop(pairs);
        Ok(cleaning)
    }

    fn leave_out(&mut self, index: u64, defect: Defect, pair: (String, String)) {
        self.dropped.push((index, defect));
        if self.examples.iter().all(|(known, ..)| *known != defect) {
            self.examples.push((defect, index, pair));
        }
    }

    pub(crate) fn cleaned(&self) -> ParallelText {
        let indices: Vec<u64> = self.dropped.iter().map(|(index, _)| *index).collect();
        self.text.clone().without(&indices)
    }

    pub(crate) fn report(&self) -> Vec<String> {
        let n_dropped = self.dropped.len();
        let share = 100.0 * self.dropped_share();
        let languages = match self.languages {
            [Some(src), Some(tgt)] => format!(", {src} and {tgt}"),
            _ => String::new(),
        };
        let mut lines = vec![format!(
            "{} pairs of {}{languages}: {n_dropped} dropped ({share:.1}%)",
            self.n_read,
            self.text.name()
        )];
        for defect in Defect::ALL {
            let n = self.dropped.iter().filter(|(_, it)| *it == defect).count();
            let example = self.examples.iter().find(|(it, ..)| *it == defect);
            if let Some((_, index, (src, tgt))) = example {
                lines.push(format!(
                    "  {n} {defect}, first line {}: {} | {}",
                    index + 1,
                    shortened(src),
                    shortened(tgt)
                ));
            }
        }
        lines
    }

    pub(crate) fn drops_any(&self) -> bool {
        !self.dropped.is_empty()
    }

    pub(crate) fn dropped_share(&self) -> f64 {
        self.dropped.len() as f64 / self.n_read.max(1) as f64
    }

    /// Writes the pairs that are left out as lines of a reason, the corpus, the number of the line, the source and the
    /// target, with tabs between them.
    pub(crate) fn write_dropped(
        &self,
        mut write: impl FnMut(String) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        let mut pairs = self.text.pairs()?;
        let mut dropped = self.dropped.iter().peekable();
        while dropped.peek().is_some()
            && let Some(pair) = pairs.next()
        {
            let (src, tgt) = pair?;
            let index = pairs.n_read() - 1;
            if let Some((_, defect)) = dropped.next_if(|(it, _)| *it == index) {
                let fields = [defect.name(), self.text.name(), &src, &tgt];
                let [defect, name, src, tgt] = fields.map(|it| it.replace(char::is_control, " "));
                let line = index + 1;
                write(format!("{defect}\t{name}\t{line}\t{src}\t{tgt}\n"))?;
            }
        }
        Ok(())
    }
}

fn shortened(line: &str) -> String {
    const MAX_CHARACTERS: usize = 60;
    let line = printable(line);
    match line.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("\"{}…\"", &line[..end]),
        None => format!("\"{line}\""),
    }
}
