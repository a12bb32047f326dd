//! Which lines of the text an update was made from, for telling about one that went wrong.

use std::collections::BTreeSet;
use std::io;

use crate::config::DataSource;
use crate::corpus::ParallelText;
use crate::run::Run;

/// Number of lines tokenized at a time.
const CHUNK: usize = 4096;

/// Returns the numbers of the lines, from 1 and in order, whose sentences are in an update, which is
/// counted from 0; `None` where they cannot be had: built-in tasks have no lines, standard input is gone, and
/// of several corpora it is not told which.
///
/// The token store does not know them. The text is read and tokenized again: a run that broke has the time.
pub(crate) fn lines_of(run: &Run<'_>, update: u64) -> Option<Vec<u64>> {
    let text = text_of(run)?;
    let training = &run.experiment.training;
    let store = run.prepared.train.store();
    let n_sentences = store.lengths().len();
    let mut plan = run.prepared.plan.clone();
    let n_batches = training.batches_per_update();
    let batches = update * n_batches..(update + 1) * n_batches;
    let wanted: BTreeSet<u32> = batches
        .flat_map(|batch| plan.batch(batch).to_vec())
        .collect();
    let last = *wanted.last()? as usize;

    // Pairs stay in order, so that each belongs to the next line that has its ids, or begins with them.
    let over_long = run.experiment.data.filter().over_long;
    let tokenizers = &run.prepared.tokenizers;
    let mut pairs = text.pairs().ok()?;
    let mut sentence = 0;
    let mut lines = Vec::new();
    while sentence <= last {
        let mut chunk = Vec::new();
        while let Some(pair) = pairs.next() {
            chunk.push((pairs.n_read(), pair.ok()?));
            if chunk.len() == CHUNK {
                break;
            }
        }
        if chunk.is_empty() {
            return None;
        }
        let src: Vec<&str> = chunk.iter().map(|(_, (src, _))| src.as_str()).collect();
        let tgt: Vec<&str> = chunk.iter().map(|(_, (_, tgt))| tgt.as_str()).collect();
        let ids = tokenizers.src().encode_all(&src).into_iter();
        let ids = ids.zip(tokenizers.tgt().encode_all(&tgt));
        for ((line, _), (src, tgt)) in chunk.iter().zip(ids) {
            if sentence == n_sentences {
                break;
            }
            let kept = store.pair(sentence).ok()?;
            if !(over_long.keeps(&kept.src, &src) && over_long.keeps(&kept.tgt, &tgt)) {
                continue;
            }
            if wanted.contains(&(sentence as u32)) {
                lines.push(*line);
            }
            sentence += 1;
        }
    }
    Some(lines)
}

/// Opens the text that a run is trained on, once more.
fn text_of(run: &Run<'_>) -> Option<ParallelText> {
    let data = &run.experiment.data;
    let DataSource::Corpus { train, valid } = data.source().ok()? else {
        return None;
    };
    // The numbers of lines in several files would need the file beside them.
    let [(train, _)] = train.as_slice() else {
        return None;
    };
    let text = ParallelText::open_with_stdin(train, &mut io::empty()).ok()?;
    let seed = run.experiment.training.seed;
    match valid {
        Some(_) => Some(text),
        None => Some(text.hold_out(data.valid_pairs, seed).ok()?.0),
    }
}
