//! [`PhraseTracker`]: the phrases that a sequence has met, and the number of tokens that the others need.
//!
//! The same tokens can be text, the start of one phrase and the end of another. A tracker follows all readings of a
//! sequence at once, like an automaton without backtracking, so that a phrase that is begun and abandoned, or that
//! overlaps another one, is handled without extra cost. (Hu et al. 2019, §4, <https://arxiv.org/abs/1904.09527>, follow
//! only one reading.)

use std::borrow::Cow;
use std::collections::HashMap;

use super::{Phrase, Request};

/// Maximum number of readings that are followed, those with the fewest tokens. Overlapping phrases have about five.
const MOST_READINGS: usize = 64;

#[derive(Clone, Debug)]
pub(super) struct RequiredPhrases<'a> {
    phrases: Cow<'a, [Phrase]>,
    /// Number of tokens of each.
    n_tokens: Vec<usize>,
    /// Sets of equal phrases, as bits. In each set, the first unmet one is begun.
    equal: Vec<u128>,
    /// The variants that begin with a token, as indices of the phrase and of its variant, in list order.
    by_first: HashMap<u32, Vec<Place>>,
}

/// The state of the phrases after a sequence of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PhraseTracker {
    readings: Vec<Reading>,
    /// The last token; `None` before the first.
    last: Option<u32>,
    /// The smallest number of tokens that a reading needs for its unmet phrases; 0 if all are met.
    pub(super) n_required: usize,
}

/// One interpretation of a sequence of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reading {
    /// The phrases that are met, as bits.
    met: u128,
    /// Number of tokens of the unmet phrases.
    n_unmet: usize,
    at: At,
}

/// The part of the reading that the last token belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Text,
    /// A phrase that is complete if no letter follows.
    End {
        phrase: usize,
    },
    /// A phrase with `n_tokens` tokens present.
    Inside(Place),
}

/// A place in a variant of a phrase, after its first tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    phrase: usize,
    variant: usize,
    n_tokens: usize,
}

impl<'a> RequiredPhrases<'a> {
    /// Takes the first phrases of the list; each must have a variant that can be written everywhere.
    pub(super) fn new(phrases: &'a [Phrase]) -> Self {
        let phrases = &phrases[..phrases.len().min(Request::MOST_PHRASES)];
        let n_tokens = phrases.iter().map(|phrase| {
            let n_tokens = phrase.n_tokens();
            n_tokens.expect("phrases are checked before a search")
        });
        let mut equal: Vec<u128> = Vec::new();
        let mut by_first: HashMap<u32, Vec<Place>> = HashMap::new();
        for (index, phrase) in phrases.iter().enumerate() {
            let mut sets = equal.iter_mut();
            match sets.find(|set| phrases[first_of(**set)] == *phrase) {
                Some(set) => *set |= 1 << index,
                None => equal.push(1 << index),
            }
            for (variant, it) in phrase.variants.iter().enumerate() {
                if let Some(first) = it.ids.first() {
                    by_first.entry(*first).or_default().push(Place {
                        phrase: index,
                        variant,
                        n_tokens: 1,
                    });
                }
            }
        }
        Self {
            n_tokens: n_tokens.collect(),
            equal,
            by_first,
            phrases: Cow::Borrowed(phrases),
        }
    }

    pub(super) fn into_owned(self) -> RequiredPhrases<'static> {
        RequiredPhrases {
            phrases: Cow::Owned(self.phrases.into_owned()),
            n_tokens: self.n_tokens,
            equal: self.equal,
            by_first: self.by_first,
        }
    }

    /// Takes the phrases of a request, except the last ones that do not fit in `most` tokens after the prefix.
    pub(super) fn that_fit(request: &'a Request, most: usize) -> Self {
        let mut phrases = request.phrases.as_slice();
        let room = most.saturating_sub(request.prefix.len());
        loop {
            let required = Self::new(phrases);
            if phrases.is_empty() || required.follow(&request.prefix).n_required <= room {
                return required;
            }
            phrases = &phrases[..required.phrases.len() - 1];
        }
    }

    pub(super) fn n_tokens(&self) -> usize {
        self.n_tokens.iter().sum()
    }

    /// Returns the maximum number of phrases that a sequence contains.
    pub(super) fn n_met(&self, ids: &[u32]) -> usize {
        let readings = self.follow(ids).readings;
        let n_met = readings.iter().map(|it| it.met.count_ones() as usize);
        n_met.max().unwrap_or(0)
    }

    pub(super) fn start(&self) -> PhraseTracker {
        let nothing = Reading {
            met: 0,
            n_unmet: self.n_tokens(),
            at: At::Text,
        };
        self.tracker(vec![nothing], None)
    }

    fn follow(&self, ids: &[u32]) -> PhraseTracker {
        ids.iter().fold(self.start(), |tracker, id| {
            let grown = self.grow(&tracker, *id, true);
            grown.expect("every token may be text")
        })
    }

    /// Returns the state after one more token; `None` if it can be neither text, which a rule may forbid, nor in a phrase.
    pub(super) fn grow(
        &self,
        tracker: &PhraseTracker,
        id: u32,
        is_allowed: bool,
    ) -> Option<PhraseTracker> {
        let mut readings = Vec::with_capacity(tracker.readings.len() + 1);
        for reading in &tracker.readings {
            let at = reading.at;
            if let At::Inside(place) = at {
                if self.ids(place)[place.n_tokens] == id {
                    let n_tokens = place.n_tokens + 1;
                    readings.push(self.inside(reading, Place { n_tokens, ..place }));
                }
                continue;
            }
            if !self.may_follow(tracker.last, at, id) {
                continue;
            }
            if is_allowed {
                let at = At::Text;
                readings.push(Reading { at, ..*reading });
            }
            let begun = self.begun_with(id, tracker.last, reading.met);
            readings.extend(begun.map(|place| self.inside(reading, place)));
        }
        (!readings.is_empty()).then(|| self.tracker(readings, Some(id)))
    }

    /// Returns the tokens that begin or continue a phrase, sorted.
    pub(super) fn next_tokens(&self, tracker: &PhraseTracker) -> Vec<u32> {
        let mut ids = Vec::new();
        for Reading { met, at, .. } in tracker.readings.iter().copied() {
            match at {
                At::Inside(place) => ids.push(self.ids(place)[place.n_tokens]),
                At::Text | At::End { .. } => {
                    let firsts = self.firsts(tracker.last, met);
                    ids.extend(firsts.filter(|id| self.may_follow(tracker.last, at, *id)));
                }
            }
        }
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Returns the numbers of tokens that [`n_required_after_text`](Self::n_required_after_text) may return.
    pub(super) fn n_required_after_any_text(
        &self,
        tracker: &PhraseTracker,
    ) -> impl Iterator<Item = usize> {
        let of = |is_at: fn(At) -> bool| {
            let readings = tracker.readings.iter().filter(move |it| is_at(it.at));
            readings.map(|reading| self.n_required(reading)).min()
        };
        let text = of(|at| at == At::Text);
        text.into_iter()
            .chain(of(|at| matches!(at, At::End { .. })))
    }

    /// Returns the number of tokens required after `id` as text outside of phrases; `None` if it cannot be that.
    pub(super) fn n_required_after_text(&self, tracker: &PhraseTracker, id: u32) -> Option<usize> {
        let readings = tracker.readings.iter().filter(|reading| {
            !matches!(reading.at, At::Inside(_)) && self.may_follow(tracker.last, reading.at, id)
        });
        readings.map(|reading| self.n_required(reading)).min()
    }

    /// Returns the phrases that may begin, as bits: the first unmet one of each set of equal phrases.
    fn next_phrases(&self, met: u128) -> u128 {
        let unmet = self.equal.iter().map(|set| set & !met);
        unmet.fold(0, |next, set| next | (set & set.wrapping_neg()))
    }

    /// Returns the first tokens of the phrases that may begin after the token `last`.
    fn firsts(&self, last: Option<u32>, met: u128) -> impl Iterator<Item = u32> + '_ {
        let mut next = self.next_phrases(met);
        let phrases = std::iter::from_fn(move || {
            let phrase = (next != 0).then(|| first_of(next))?;
            next &= next - 1;
            Some(&self.phrases[phrase])
        });
        phrases.flat_map(move |phrase| {
            phrase.variants.iter().filter_map(move |it| {
                let first = *it.ids.first()?;
                phrase.may_begin(it.position, last, first).then_some(first)
            })
        })
    }

    /// Returns the phrases and their variants that may begin with the token `id` after the token `last`.
    fn begun_with(
        &self,
        id: u32,
        last: Option<u32>,
        met: u128,
    ) -> impl Iterator<Item = Place> + '_ {
        let variants = self.by_first.get(&id).map_or(&[][..], Vec::as_slice);
        let next = match variants {
            [] => 0,
            _ => self.next_phrases(met),
        };
        let mut variants = variants.iter().copied();
        let begins = move |it: &Place| {
            let of = &self.phrases[it.phrase];
            next & (1 << it.phrase) != 0 && of.may_begin(of.variants[it.variant].position, last, id)
        };
        std::iter::from_fn(move || variants.by_ref().find(&begins))
    }

    /// Returns whether a token may follow a phrase that has just ended, if one has.
    fn may_follow(&self, last: Option<u32>, at: At, id: u32) -> bool {
        match (at, last) {
            (At::End { phrase }, Some(last)) => self.phrases[phrase].is_boundary(last, id),
            _ => true,
        }
    }

    /// Returns the reading in which the last token is the `n_tokens`-th of a phrase that `before` has begun.
    fn ids(&self, place: Place) -> &[u32] {
        &self.phrases[place.phrase].variants[place.variant].ids
    }

    fn inside(&self, before: &Reading, place: Place) -> Reading {
        let phrase = place.phrase;
        if place.n_tokens < self.ids(place).len() {
            let at = At::Inside(place);
            return Reading { at, ..*before };
        }
        Reading {
            met: before.met | (1 << phrase),
            n_unmet: before.n_unmet - self.n_tokens[phrase],
            at: At::End { phrase },
        }
    }

    /// Returns the number of tokens that a reading needs, in constant time: every token of the vocabulary asks for it.
    fn n_required(&self, reading: &Reading) -> usize {
        match reading.at {
            At::Text | At::End { .. } => reading.n_unmet,
            At::Inside(place) => {
                let left = self.ids(place).len() - place.n_tokens;
                reading.n_unmet - self.n_tokens[place.phrase] + left
            }
        }
    }

    /// Creates a tracker, without readings that are in no respect better than another one.
    fn tracker(&self, mut readings: Vec<Reading>, last: Option<u32>) -> PhraseTracker {
        readings.sort_by_cached_key(|reading| self.n_required(reading));
        let mut kept: Vec<Reading> = Vec::with_capacity(readings.len());
        for reading in readings {
            let is_worse = kept.iter().any(|better| {
                let at_least = better.met | reading.met == better.met;
                let is_freer = match (better.at, reading.at) {
                    (At::Text, At::End { .. }) => true,
                    (better, worse) => better == worse,
                };
                at_least && is_freer
            });
            // A reading as text is always kept, so that every allowed token can follow.
            let is_text = |it: &Reading| it.at == At::Text;
            let has_room = kept.len() < MOST_READINGS;
            if !is_worse && (has_room || is_text(&reading) && !kept.iter().any(is_text)) {
                kept.push(reading);
            }
        }
        let n_required = kept.first().map_or(0, |best| self.n_required(best));
        PhraseTracker {
            readings: kept,
            last,
            n_required,
        }
    }
}

fn first_of(bits: u128) -> usize {
    bits.trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{TokenEdges, Variant};
    use super::*;

    fn phrase(ids: &[u32]) -> Phrase {
        let edges: Arc<[TokenEdges]> = vec![TokenEdges::default(); 300].into();
        let ids = ids.to_vec();
        let variants = vec![Variant {
            ids,
            ..Variant::default()
        }];
        Phrase { variants, edges }
    }

    fn n_unmet_by_sum(phrases: &RequiredPhrases<'_>, reading: &Reading) -> usize {
        let tokens = phrases.n_tokens.iter().enumerate();
        let unmet = tokens.filter(|(phrase, _)| reading.met & (1 << phrase) == 0);
        unmet.map(|(_, n_tokens)| n_tokens).sum()
    }

    #[test]
    fn of_many_equal_phrases_only_one_is_looked_at() {
        let equal = vec![phrase(&[7]); Request::MOST_PHRASES];
        let required = RequiredPhrases::new(&equal);
        for met in [0, 1, (1 << 100) - 1] {
            assert_eq!(required.firsts(None, met).count(), 1);
            assert_eq!(required.begun_with(7, None, met).count(), 1);
        }
        assert_eq!(required.firsts(None, u128::MAX).count(), 0);
    }

    #[test]
    fn a_token_is_compared_with_the_phrases_that_it_begins_only() {
        let different: Vec<Phrase> = (10..138).map(|id| phrase(&[id, 5])).collect();
        let required = RequiredPhrases::new(&different);
        assert!(
            required
                .by_first
                .values()
                .all(|variants| variants.len() == 1)
        );
        let begun = required.begun_with(11, None, 0);
        let begun: Vec<_> = begun.map(|it| (it.phrase, it.variant)).collect();
        assert_eq!(begun, [(1, 0)]);
        assert_eq!(required.begun_with(5, None, 0).count(), 0);
        assert_eq!(required.begun_with(11, None, 1 << 1).count(), 0);
    }

    #[test]
    fn the_tokens_of_unmet_phrases_are_counted_along_with_every_reading() {
        let phrases = [&[7, 8][..], &[8], &[7, 8], &[9, 7, 8, 9], &[8]].map(phrase);
        let required = RequiredPhrases::new(&phrases);
        let mut tracker = required.start();
        for id in [9, 7, 8, 9, 7, 8, 8, 7, 8] {
            tracker = required
                .grow(&tracker, id, true)
                .expect("every token may be text");
            for reading in &tracker.readings {
                assert_eq!(reading.n_unmet, n_unmet_by_sum(&required, reading));
            }
        }
    }
}
