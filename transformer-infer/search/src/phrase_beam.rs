//! [`PhraseBeam`]: the beam of a sentence with required phrases, by dynamic beam allocation (Post & Vilar 2018,
//! <https://arxiv.org/abs/1804.06609>).

use transformer_text::EOS;

use super::hypothesis::Prefix;
use super::phrase_tracker::{PhraseTracker, RequiredPhrases};
use super::processors::Prediction;
use super::sentence_beam::{Candidate, Chosen, Likeliest};
use super::{Phrase, Request, Search};

/// Maximum number of prefixes that are added to a beam for its banks.
const MOST_ADDED: usize = 32;

/// Divides the beam of a sentence into banks by the number of tokens that its phrases still need.
///
/// Without banks, prefixes that contain an unlikely phrase would lose to those that delay it to the end. Half of
/// `beam_size` is for complete prefixes, and one slot for each other bank: its best prefix is the one with the best
/// position of a phrase so far. The other half, and as many slots as there are other banks, are for the likeliest of
/// the remaining prefixes: before a phrase comes they mostly lack it, and after it they are mostly complete. So greedy
/// search finds good positions for phrases, too. (`benchmarks/glossary.py` measures a better BLEU for this than for
/// `beam_size` slots for complete prefixes and one for each other bank.)
#[derive(Debug)]
pub(super) struct PhraseBeam {
    phrases: RequiredPhrases<'static>,
    /// Maximum number of tokens of an output, without an EOS that the length limit forces.
    most: usize,
    /// The state of the phrases for each prefix of the beam.
    trackers: Vec<PhraseTracker>,
    width: usize,
}

pub(super) fn width(search: &Search, phrases: &RequiredPhrases<'_>) -> usize {
    let n_added = phrases.n_tokens().saturating_mul(2).min(MOST_ADDED);
    search.beam_size.max(1).saturating_add(n_added)
}

pub(super) fn n_phrases_met(phrases: &[Phrase], ids: &[u32]) -> usize {
    RequiredPhrases::new(phrases).n_met(ids)
}

impl PhraseBeam {
    /// Returns the beam before the first token; `None` if no phrase is required.
    pub(super) fn new(request: &Request, search: &Search) -> Option<Self> {
        if request.phrases.is_empty() {
            return None;
        }
        let most = search.at_limit.max_words(request.max_len);
        let phrases = RequiredPhrases::that_fit(request, most);
        (phrases.n_tokens() > 0).then(|| Self {
            most,
            trackers: vec![phrases.start()],
            width: width(search, &phrases),
            phrases: phrases.into_owned(),
        })
    }

    /// Appends a token of the forced prefix to all prefixes.
    pub(super) fn force(&mut self, id: u32) {
        for tracker in &mut self.trackers {
            if let Some(grown) = self.phrases.grow(tracker, id, true) {
                *tracker = grown;
            }
        }
    }

    /// Chooses the continuations of the beam; with the new token they are `n_tokens` tokens long. The prefixes are the
    /// rows of the prediction starting at `first_row`.
    pub(super) fn choose(
        &mut self,
        beam: &[Prefix],
        n_tokens: usize,
        prediction: &Prediction,
        first_row: usize,
        search: &Search,
    ) -> Chosen {
        let mut banks = Banks::new(self.phrases.n_tokens(), 2 * self.width);
        for (parent, (prefix, tracker)) in beam.iter().zip(&self.trackers).enumerate() {
            let row = first_row + parent;
            let offer = Offer {
                parent,
                prefix,
                tracker,
                room: self.most.checked_sub(n_tokens),
                scores: prediction.scores(row),
                log_probs: prediction.log_probs(row),
            };
            offer.to(&mut banks, &self.phrases);
        }
        let chosen = banks.choose(search.beam_size.max(1), self.width);
        let grown = chosen.unfinished.iter().filter_map(|candidate| {
            let (id, parent) = (candidate.step.id, candidate.parent);
            let is_allowed = prediction.scores(first_row + parent)[id as usize].is_finite();
            self.phrases.grow(&self.trackers[parent], id, is_allowed)
        });
        self.trackers = grown.collect();
        debug_assert_eq!(self.trackers.len(), chosen.unfinished.len());
        chosen
    }
}

struct Offer<'a> {
    parent: usize,
    prefix: &'a Prefix,
    tracker: &'a PhraseTracker,
    /// Number of tokens that the limit allows after the next one; `None` if the next must be EOS.
    room: Option<usize>,
    scores: &'a [f32],
    log_probs: &'a [f32],
}

impl Offer<'_> {
    /// Offers EOS if all phrases are met, the tokens of phrases even if a rule forbids them, and text.
    fn to(&self, banks: &mut Banks, phrases: &RequiredPhrases<'_>) {
        let is_complete = self.tracker.n_required == 0;
        let eos = self.scores[EOS as usize];
        if is_complete {
            self.token(banks, 0, EOS, eos);
        }
        let mut n_offered = 0;
        if let Some(room) = self.room {
            let next_tokens = phrases.next_tokens(self.tracker);
            for id in next_tokens.iter().copied() {
                let score = self.scores[id as usize];
                let is_allowed = score.is_finite();
                let score = if is_allowed {
                    score
                } else {
                    self.log_probs[id as usize]
                };
                let grown = phrases.grow(self.tracker, id, is_allowed);
                if let Some(grown) = grown.filter(|grown| grown.n_required <= room) {
                    self.token(banks, grown.n_required, id, score);
                    n_offered += 1;
                }
            }
            self.text(banks, phrases, room, &next_tokens);
        }
        // If no other token is allowed, EOS is, even if a rule forbids it.
        if is_complete && !eos.is_finite() && n_offered == 0 && !self.has_text(phrases) {
            self.token(banks, 0, EOS, self.log_probs[EOS as usize]);
        }
    }

    /// Offers the tokens that neither begin nor continue a phrase.
    fn text(
        &self,
        banks: &mut Banks,
        phrases: &RequiredPhrases<'_>,
        room: usize,
        next_tokens: &[u32],
    ) {
        let possible = phrases.n_required_after_any_text(self.tracker);
        let possible = possible.filter(|n| *n <= room);
        let thresholds = possible.map(|n| banks.bank(n).threshold);
        let Some(threshold) = thresholds.reduce(f64::min) else {
            return;
        };
        for (id, score) in (0..).zip(self.scores) {
            // Only few tokens pass this test.
            if self.prefix.score_sum + f64::from(*score) > threshold
                && id != EOS
                && next_tokens.binary_search(&id).is_err()
                && let Some(n) = phrases.n_required_after_text(self.tracker, id)
                && n <= room
            {
                self.token(banks, n, id, *score);
            }
        }
    }

    /// Returns whether a token other than EOS is allowed that neither begins nor continues a phrase.
    fn has_text(&self, phrases: &RequiredPhrases<'_>) -> bool {
        let Some(room) = self.room else { return false };
        let next_tokens = phrases.next_tokens(self.tracker);
        let mut scored = (0..).zip(self.scores);
        scored.any(|(id, score)| {
            let n_required = phrases.n_required_after_text(self.tracker, id);
            score.is_finite()
                && is_word(id)
                && n_required.is_some_and(|n| n <= room)
                && next_tokens.binary_search(&id).is_err()
        })
    }

    fn token(&self, banks: &mut Banks, n_required: usize, id: u32, score: f32) {
        let log_prob = || self.log_probs[id as usize];
        let bank = banks.bank(n_required);
        bank.offer(self.parent, self.prefix, id, score, log_prob);
    }
}

/// Returns whether a search may generate a token that is not EOS.
fn is_word(id: u32) -> bool {
    id != EOS && !super::NEVER_GENERATED.contains(&id)
}

/// The likeliest continuations by the number of tokens still required after them.
struct Banks(Vec<Likeliest>);

impl Banks {
    /// Creates banks for 0 to `most_required` tokens, with at most `n_candidates` candidates each.
    fn new(most_required: usize, n_candidates: usize) -> Self {
        let bank = |_| Likeliest::new(n_candidates);
        Self((0..=most_required).map(bank).collect())
    }

    fn bank(&mut self, n_required: usize) -> &mut Likeliest {
        // A long variant may need more tokens than the shortest one, which is counted at the beginning.
        let last = self.0.len() - 1;
        &mut self.0[n_required.min(last)]
    }

    /// Chooses `width` prefixes, and the complete ones that end with EOS among the first `beam_size`.
    fn choose(self, beam_size: usize, width: usize) -> Chosen {
        let mut banks = self.0.into_iter().map(|bank| bank.candidates);
        let mut complete = banks.next().unwrap_or_default();
        let is_eos = |candidate: &Candidate| candidate.step.id == EOS;
        let first = complete.iter().take(beam_size).copied();
        let finished = first.filter(is_eos).collect();
        complete.retain(|candidate| !is_eos(candidate));
        let mut others = complete.split_off(beam_size.div_ceil(2).min(complete.len()));
        let mut unfinished = complete;
        for mut bank in banks.filter(|bank| !bank.is_empty()) {
            if unfinished.len() < width {
                unfinished.push(bank.remove(0));
            }
            others.append(&mut bank);
        }
        let by_score = |a: &Candidate, b: &Candidate| b.score_sum.total_cmp(&a.score_sum);
        others.sort_by(by_score);
        others.truncate(width - unfinished.len());
        unfinished.append(&mut others);
        unfinished.sort_by(by_score);
        Chosen {
            finished,
            unfinished,
        }
    }
}
