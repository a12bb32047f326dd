//! The lines of the text in an update, for the error of an update that went wrong.

use std::collections::BTreeSet;
use std::io;

use super::prepare::Prepared;
use crate::config::{DataSource, Experiment, ValidationSource};
use crate::corpus::{CHUNK_BYTES, CHUNK_PAIRS, ParallelText};

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
    let store = prepared.train.store();
    let n_sentences = store.lengths().len();
    let mut plan = prepared.plan.clone();
    let n_batches = experiment.training.batches_per_update();
    let batches = update * n_batches..(update + 1) * n_batches;
    let wanted: BTreeSet<u32> = batches
        .flat_map(|batch| plan.batch(batch).to_vec())
        .collect();
    let last = *wanted.last()? as usize;

    // The store keeps the order, so each pair belongs to the next line with ids that equal its own or begin with them.
    let over_long = experiment.data.filter().over_long;
    let tokenizers = &prepared.tokenizers;
    let mut pairs = text.pairs().ok()?;
    let mut sentence = 0;
    let mut lines = Vec::new();
    while sentence <= last {
        let mut chunk = Vec::new();
        let mut n_bytes = 0;
        while chunk.len() < CHUNK_PAIRS
            && n_bytes < CHUNK_BYTES
            && let Some(pair) = pairs.next()
        {
            let (src, tgt) = pair.ok()?;
            n_bytes += src.len() + tgt.len();
            chunk.push((pairs.n_read(), (src, tgt)));
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
