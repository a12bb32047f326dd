//! Reference searches, which are slow: they score every sequence from its definition, not incrementally.

use std::cmp::Ordering;

use transformer_text::{BOS, EOS};

use super::contained::{least_required, most_met, required};
use super::table::Table;
use crate::{AtLimit, Hypothesis, NEVER_GENERATED, Request, Search};

/// Returns all sequences that may be generated for the first sentence of a table, the best first.
pub(super) fn exhaustive(
    table: &Table,
    vocab_size: u32,
    request: &Request,
    search: &Search,
) -> Vec<Hypothesis> {
    let mut all = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(ids) = open.pop() {
        if ids.len() == request.max_len {
            all.push(hypothesis(table, &ids, request, search));
            continue;
        }
        for id in continuations(&ids, vocab_size, request, search) {
            let grown = [ids.as_slice(), &[id]].concat();
            if id == EOS {
                all.push(hypothesis(table, &grown, request, search));
            } else {
                open.push(grown);
            }
        }
    }
    sort(&mut all, search);
    all
}

/// Sorts as searches do: by score, and finished hypotheses first unless the others compete.
pub(super) fn sort(hypotheses: &mut [Hypothesis], search: &Search) {
    hypotheses.sort_by(|a, b| {
        let by_end = match search.at_limit {
            AtLimit::Compete => Ordering::Equal,
            _ => b.finished.cmp(&a.finished),
        };
        by_end.then(b.score.total_cmp(&a.score))
    });
}

/// Returns the tokens that are allowed after `ids`.
pub(super) fn continuations(
    ids: &[u32],
    vocab_size: u32,
    request: &Request,
    search: &Search,
) -> Vec<u32> {
    let by_rules = by_rules(ids, vocab_size, request, search);
    let is_forced = ids.len() < request.prefix.len();
    let must_end = search.at_limit.forces_eos() && ids.len() + 1 == request.max_len;
    if request.phrases.is_empty() || is_forced || must_end {
        return by_rules;
    }
    let most = most_tokens(request, search);
    let phrases = required(request, most);
    let least = |ids: &[u32]| {
        let may_be_text = |n: usize| {
            n <= request.prefix.len() || {
                let allowed = self::by_rules(&ids[..n - 1], vocab_size, request, search);
                allowed.contains(&ids[n - 1])
            }
        };
        least_required(ids, phrases, &may_be_text)
    };
    let words = (0..vocab_size).filter(|id| *id != EOS && !NEVER_GENERATED.contains(id));
    let mut allowed: Vec<u32> = words
        .filter(|id| {
            let grown = [ids, &[*id]].concat();
            least(&grown).is_some_and(|least| least + grown.len() <= most)
        })
        .collect();
    if least(ids) == Some(0) && (by_rules.contains(&EOS) || allowed.is_empty()) {
        allowed.push(EOS);
    }
    allowed
}

/// Returns the length limit without an EOS that it forces.
pub(super) fn most_tokens(request: &Request, search: &Search) -> usize {
    match search.at_limit {
        AtLimit::Cut | AtLimit::Compete => request.max_len,
        AtLimit::End | AtLimit::FreeEnd => request.max_len.saturating_sub(1),
    }
}

/// Returns the tokens that are allowed after `ids` by the rules without phrases.
pub(super) fn by_rules(
    ids: &[u32],
    vocab_size: u32,
    request: &Request,
    search: &Search,
) -> Vec<u32> {
    if let Some(forced) = request.prefix.get(ids.len()) {
        return vec![*forced];
    }
    if search.at_limit.forces_eos() && ids.len() + 1 == request.max_len {
        return vec![EOS];
    }
    let tokens = (0..vocab_size).filter(|id| !NEVER_GENERATED.contains(id));
    let allowed: Vec<u32> = tokens
        .filter(|id| is_allowed(&[ids, &[*id]].concat(), request, search))
        .collect();
    if allowed.is_empty() {
        vec![EOS]
    } else {
        allowed
    }
}

/// Returns whether all rules allow the last token of a sequence, which may be EOS.
fn is_allowed(tokens: &[u32], request: &Request, search: &Search) -> bool {
    let ends = tokens.last() == Some(&EOS);
    let too_short = ends && tokens.len() < request.min_len && tokens.len() < request.max_len;
    let banned = search.banned.iter().any(|banned| tokens.ends_with(banned));
    let repeats = search.no_repeat_ngram.is_some_and(|n| {
        let mut ngrams = tokens.windows(n).rev();
        let last = ngrams.next();
        last.is_some_and(|last| ngrams.any(|earlier| earlier == last))
    });
    !too_short && !banned && !repeats
}

/// Scores a sequence, which includes EOS if it is finished.
pub(super) fn hypothesis(
    table: &Table,
    tokens: &[u32],
    request: &Request,
    search: &Search,
) -> Hypothesis {
    let (mut log_prob, mut score_sum) = (0.0, 0.0);
    let mut token_log_probs = Vec::new();
    let mut attended = [0.0; 3];
    let mut seen = vec![BOS];
    for (position, id) in tokens.iter().enumerate() {
        let given = table.row(0, &seen)[*id as usize];
        let repeated = seen.contains(id) && position >= request.prefix.len();
        let theta = |repeated: bool| match repeated {
            true => search.repetition_penalty as f32,
            false => 1.0,
        };
        token_log_probs.push(given);
        log_prob += f64::from(given);
        let is_last = position + 1 == request.max_len && position >= request.prefix.len();
        let is_free = search.at_limit == AtLimit::FreeEnd && is_last;
        let mut score = if is_free {
            0.0
        } else {
            given * theta(repeated)
        };
        let row = table.row(0, &seen);
        let allowed = by_rules(&tokens[..position], row.len() as u32, request, search);
        let is_forced = position < request.prefix.len();
        if !is_forced && !allowed.contains(id) {
            // A phrase takes precedence over the rules.
            score = given;
        } else if search.renormalizes() && !is_forced {
            let score_of = |id: &u32| match is_free {
                true => 0.0,
                false => f64::from(row[*id as usize] * theta(seen.contains(id))),
            };
            let sum: f64 = allowed.iter().map(|id| score_of(id).exp()).sum();
            score = (f64::from(score) - sum.ln()) as f32;
        }
        score_sum += f64::from(score);
        for (sum, weight) in attended.iter_mut().zip(Table::attention(seen[position])) {
            *sum += weight;
        }
        seen.push(*id);
    }
    let finished = tokens.last() == Some(&EOS);
    let mut score = search.length_penalty.score(score_sum, tokens.len());
    if !tokens.is_empty() {
        let of_token = |sum: &f32| f64::from(sum.clamp(f32::MIN_POSITIVE, 1.0)).ln();
        score += search.coverage_penalty * attended.iter().map(of_token).sum::<f64>();
    }
    let ids = tokens.strip_suffix(&[EOS]).unwrap_or(tokens);
    Hypothesis {
        n_phrases_met: most_met(ids, &request.phrases),
        ids: ids.to_vec(),
        token_log_probs,
        log_prob,
        score,
        finished,
    }
}
