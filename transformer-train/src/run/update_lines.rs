//! The lines of the text in an update, for the error of an update that went wrong.

use std::collections::BTreeSet;
use std::io;

use super::prepare::Prepared;
use crate::config::{DataSource, Experiment, ValidationSource};
use crate::corpus::{CorpusError, KeptPair, ParallelText, encode_into, tokenized};

/// Returns the line numbers, from 1 and in ascending order, of the sentences in an update, which is counted from 0.
///
/// `None` if they are unknown: built-in tasks have no lines, standard input cannot be read again, and line numbers of
/// several corpora would be ambiguous. The token store has no line numbers, so the text is read and tokenized again,
/// since a failed run has the time.
pub(super) fn lines_of_update(
    experiment: &Experiment,
    prepared: &Prepared,
    update: u64,
) -> Option<Vec<u64>> {
    let text = training_text(experiment)?;
    let mut plan = prepared.plan.clone();
    let n_batches = experiment.training.batches_per_update();
    let batches = update * n_batches..(update + 1) * n_batches;
    let wanted: BTreeSet<u32> = batches
        .flat_map(|batch| plan.batch(batch).to_vec())
        .collect();
    let last = *wanted.last()?;

    let (mut sentence, mut lines) = (0, Vec::new());
    let sink = |pair: KeptPair<'_>| {
        if wanted.contains(&sentence) {
            let stored = prepared.train.store().pair(sentence as usize)?;
            // Otherwise the files have changed.
            if (pair.src, pair.tgt) != (&stored.src[..], &stored.tgt[..]) {
                return Err(CorpusError::Interrupted);
            }
            lines.push(pair.line);
        }
        sentence += 1;
        match sentence <= last {
            true => Ok(()),
            false => Err(CorpusError::Interrupted),
        }
    };
    let tokenizers = &prepared.tokenizers;
    let [src, tgt] = [tokenizers.src(), tokenizers.tgt()].map(tokenized);
    // It ends at the last of these sentences.
    let _ = encode_into(&text, &experiment.data.filter(), src, tgt, sink);
    (lines.len() == wanted.len()).then_some(lines)
}

/// Opens the training text again.
fn training_text(experiment: &Experiment) -> Option<ParallelText> {
    let data = &experiment.data;
    let DataSource::Corpus { train, valid } = data.source().ok()? else {
        return None;
    };
    // The lines of several corpora would have to be named with their files.
    let [(train, _)] = train.as_slice() else {
        return None;
    };
    let limit = data.line_limit();
    let text = ParallelText::open_with_stdin(&train.source, limit, &mut io::empty()).ok()?;
    let text = text.tagged(&train.tags);
    let seed = experiment.training.seed;
    match valid {
        ValidationSource::HeldOut => Some(text.hold_out(data.valid_pairs, seed).ok()?.0),
        ValidationSource::Files(_) | ValidationSource::OfCorpora(_) => Some(text),
    }
}
