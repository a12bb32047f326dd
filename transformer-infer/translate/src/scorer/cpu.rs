//! Next tokens from logits in CPU memory.

use transformer_core::cpu;

use transformer_search::ScoredToken;

use super::top_k::top_k_of_row;

/// Returns the `k` likeliest tokens of each row, the likeliest first.
pub(super) fn top_k(logits: &[f32], vocab_size: usize, k: usize) -> Vec<Vec<ScoredToken>> {
    let summaries = cpu::summarize_logits(logits, vocab_size);
    logits
        .chunks(vocab_size)
        .zip(&summaries)
        .map(|(row, summary)| top_k_of_row(row, summary, k))
        .collect()
}

/// Returns the likeliest token of each row.
pub(super) fn best(logits: &[f32], vocab_size: usize) -> Vec<ScoredToken> {
    let best = top_k(logits, vocab_size, 1).into_iter();
    best.map(|row| row.first().copied().unwrap_or(ScoredToken::NONE))
        .collect()
}
