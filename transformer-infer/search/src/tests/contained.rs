//! Which phrases a sequence contains, by trying every way to read it.

use crate::{Phrase, Position, Request, TokenEdges};

/// Returns the phrases of a request that are required: those that fit in `most` tokens, without the last ones.
pub(super) fn required(request: &Request, most: usize) -> &[Phrase] {
    let room = most.saturating_sub(request.prefix.len());
    let fit = |n: &usize| {
        let least = least_required(&request.prefix, &request.phrases[..*n], &|_| true);
        least.is_some_and(|least| least <= room)
    };
    let n_phrases = (1..=request.phrases.len()).rev().find(fit);
    &request.phrases[..n_phrases.unwrap_or(0)]
}

/// Returns the smallest number of tokens that unmet phrases need after a sequence; `None` if it cannot be read.
///
/// The last of its first `n` tokens may be text if `may_be_text(n)`.
pub(super) fn least_required(
    ids: &[u32],
    phrases: &[Phrase],
    may_be_text: &dyn Fn(usize) -> bool,
) -> Option<usize> {
    let all: Vec<&Phrase> = phrases.iter().collect();
    let mut least = None;
    let reader = Reader::new(ids, phrases, may_be_text);
    reader.read(0, false, &all, &mut |unmet, n_left| {
        let n_required = unmet.iter().map(|it| n_tokens(it)).sum::<usize>() + n_left;
        least = Some(least.map_or(n_required, |least: usize| least.min(n_required)));
    });
    least
}

/// Returns the maximum number of phrases that a sequence contains without sharing tokens.
pub(super) fn most_met(ids: &[u32], phrases: &[Phrase]) -> usize {
    let all: Vec<&Phrase> = phrases.iter().collect();
    let mut most = 0;
    let reader = Reader::new(ids, phrases, &|_| true);
    reader.read(0, false, &all, &mut |unmet, n_left| {
        let n_begun = usize::from(n_left > 0);
        most = most.max(phrases.len() - unmet.len() - n_begun);
    });
    most
}

/// Tries every way to read a sequence.
struct Reader<'a> {
    ids: &'a [u32],
    /// All phrases of a test have the same.
    edges: &'a [TokenEdges],
    may_be_text: &'a dyn Fn(usize) -> bool,
}

impl<'a> Reader<'a> {
    fn new(ids: &'a [u32], phrases: &'a [Phrase], may_be_text: &'a dyn Fn(usize) -> bool) -> Self {
        Self {
            ids,
            edges: phrases.first().map_or(&[], |phrase| &phrase.edges),
            may_be_text,
        }
    }

    /// Calls `end` for every way to read the tokens from `start` on: with the unmet phrases, without the last one if it
    /// is incomplete, and the number of tokens that it lacks.
    fn read(
        &self,
        start: usize,
        is_after_phrase: bool,
        unmet: &[&Phrase],
        end: &mut dyn FnMut(&[&Phrase], usize),
    ) {
        let ids = self.ids;
        if start == ids.len() {
            end(unmet, 0);
            return;
        }
        let edges = |index: usize| self.edges.get(ids[index] as usize).copied();
        let edges = |index: usize| edges(index).unwrap_or_default();
        let is_boundary = start == 0 || !(edges(start - 1).continuable && edges(start).continues);
        if is_after_phrase && !is_boundary {
            return;
        }
        if (self.may_be_text)(start + 1) {
            self.read(start + 1, false, unmet, end);
        }
        for (index, phrase) in unmet.iter().enumerate().filter(|_| is_boundary) {
            let others = [&unmet[..index], &unmet[index + 1..]].concat();
            for variant in &phrase.variants {
                let n = variant.ids.len().min(ids.len() - start);
                let is_here = ids[start..start + n] == variant.ids[..n];
                if !is_here || !(start == 0 || variant.position == Position::Anywhere) {
                    continue;
                }
                if n < variant.ids.len() {
                    end(&others, variant.ids.len() - n);
                } else {
                    self.read(start + n, true, &others, end);
                }
            }
        }
    }
}

/// Returns the number of tokens of a phrase that can be written everywhere.
pub(super) fn n_tokens(phrase: &Phrase) -> usize {
    let variants = phrase.variants.iter();
    let everywhere = variants.filter(|it| {
        it.position == Position::Anywhere && !phrase.edges[it.ids[0] as usize].continues
    });
    let n_tokens = everywhere.map(|it| it.ids.len()).min();
    n_tokens.expect("the phrases of tests can be written everywhere")
}
