//! [`Trial`]: the ways in which a sentence is translated until its translation has no fault.

use transformer_search::Search;

use super::Protection;
use super::line::DocumentLine;
use super::marks::{Form, Sentence};
use transformer_protection::kept::{Loss, lacks_copied};
use transformer_protection::{Fault, Faults};

/// The search for a translation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// The usual search.
    #[default]
    Usual,
    /// The usual search for a line with round numbers. The translation gets the digits of the sentence.
    Round,
    /// Without repeated n-grams.
    NoRepeats,
    /// The usual search for a line of capitals in lower case; the translation is capitalized.
    LowerCase,
    /// With a wider beam; the first hypothesis with the fewest faults is taken.
    Wide,
}

impl Way {
    /// Groups lines by the searches for their ways, which are derived from the usual one.
    pub fn groups<T>(
        lines: impl IntoIterator<Item = (Self, T)>,
        usual: &Search,
    ) -> impl Iterator<Item = (Search, Vec<T>)> {
        let searches = [usual.clone(), usual.without_repeats(), usual.widened()];
        let mut groups = searches.map(|search| (search, Vec::new()));
        for (way, line) in lines {
            let group = match way {
                Self::Usual | Self::Round | Self::LowerCase => 0,
                Self::NoRepeats => 1,
                Self::Wide => 2,
            };
            groups[group].1.push(line);
        }
        groups.into_iter().filter(|(_, lines)| !lines.is_empty())
    }
}

/// The form and the search in which a sentence is translated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempt {
    /// The form of its copied text.
    pub form: Form,
    /// The search.
    pub way: Way,
}

/// The attempts at a sentence. Its text is kept first, then other faults are mended.
#[derive(Clone, Debug)]
pub struct Trial<T> {
    /// The attempt to translate next, or the last one.
    attempt: Attempt,
    /// The further attempts, the next one last, once a translation was checked.
    rest: Option<Vec<Attempt>>,
    best: Option<Tried<T>>,
    /// True if copied text is never taken out, and the line is never another one.
    is_shown: bool,
}

/// A translation with its attempt.
#[derive(Clone, Debug, Default)]
pub struct Tried<T> {
    /// The attempt.
    pub attempt: Attempt,
    /// The faults of the translation.
    pub faults: Faults,
    /// The translation.
    pub translation: T,
}

impl<T> Default for Trial<T> {
    fn default() -> Self {
        Self {
            attempt: Attempt::default(),
            rest: None,
            best: None,
            is_shown: false,
        }
    }
}

impl<T> Trial<T> {
    /// Starts a trial in which copied text is never taken out of the sentence, and its numbers and its case stay: the tokens
    /// of the translation are those of its text.
    pub fn shown() -> Self {
        Self {
            is_shown: true,
            ..Self::default()
        }
    }

    pub(super) fn done(translation: T) -> Self {
        let best = Tried {
            attempt: Attempt::default(),
            faults: Faults::default(),
            translation,
        };
        Self {
            best: Some(best),
            ..Self::default()
        }
    }

    /// Returns the attempt to translate next.
    pub fn attempt(&self) -> Attempt {
        self.attempt
    }

    /// Takes the translation of the attempt, with its text. Returns whether there is another attempt.
    pub(super) fn take(
        &mut self,
        sentence: &Sentence,
        text: &str,
        translation: T,
        protection: &Protection,
    ) -> bool {
        let attempt = self.attempt;
        let is_shown = self.is_shown;
        let can_be = |form: &Form| !(is_shown && *form == Form::Hidden);
        let can_use = sentence.can_use(attempt, text);
        let next_form = || match can_use {
            true => sentence.next_form(attempt.form, text, protection),
            false => Some(sentence.form_after(attempt.form, Loss::Missing)),
        };
        if self.rest.is_none()
            && let Some(form) = next_form().filter(can_be)
        {
            let can_round = attempt == Attempt::default()
                && !is_shown
                && sentence.lacks_only_numbers(text, protection);
            let (form, way) = match can_round {
                true => (attempt.form, Way::Round),
                false => (form, Way::Usual),
            };
            self.attempt = Attempt { form, way };
            return true;
        }
        let faults = sentence.faults(attempt, text, protection);
        let is_better = |best: &Tried<T>| can_use && faults.weight() < best.faults.weight();
        if self.best.as_ref().is_none_or(is_better) {
            self.best = Some(Tried {
                attempt,
                faults,
                translation,
            });
        }
        let rest = self.rest.get_or_insert_with(|| {
            let mut ways = sentence.ways(attempt, faults);
            let is_other = |way| matches!(way, Way::Round | Way::LowerCase);
            ways.retain(|way| can_be(&way.form) && !(is_shown && is_other(way.way)));
            if !protection.can_capitalize() {
                ways.retain(|way| way.way != Way::LowerCase);
            }
            ways
        });
        let next = rest.pop().filter(|_| !(can_use && faults.is_empty()));
        self.attempt = next.unwrap_or(self.attempt);
        next.is_some()
    }

    pub(super) fn best_attempt(&self) -> Option<Attempt> {
        self.best.as_ref().map(|best| best.attempt)
    }

    /// Takes out the translation with the lightest faults, the first of several; `None` before the first one.
    pub fn take_best(&mut self) -> Option<Tried<T>> {
        self.best.take()
    }
}

impl Sentence {
    pub(super) fn line(&self, attempt: Attempt) -> &str {
        let sentence = self.in_form(attempt.form);
        let variant = sentence.variants.line(attempt.way);
        variant.unwrap_or(&sentence.text)
    }

    pub(super) fn document_line(&self, attempt: Attempt, index: u64) -> DocumentLine<'_> {
        let sentence = self.in_form(attempt.form);
        DocumentLine {
            text: self.line(attempt),
            needs_links: !sentence.marks.is_empty(),
            index,
            copied: &sentence.copied,
            terms: self.terms(attempt.form),
            attempt,
            sentence: self,
        }
    }

    /// Returns whether a translation lacks numbers, all other copied text is in it, and the line has round numbers to try.
    fn lacks_only_numbers(&self, text: &str, protection: &Protection) -> bool {
        self.variants.round.is_some() && !lacks_copied(&self.text, &self.kept, text, protection)
    }

    /// Returns a translation as the source is written: in capitals, or with its own digits. Its length stays the same.
    pub(super) fn written(
        &self,
        attempt: Attempt,
        translation: String,
        protection: &Protection,
    ) -> String {
        let variants = &self.in_form(attempt.form).variants;
        variants.written(attempt.way, translation, protection)
    }

    /// Returns whether a translation as the source is written can be used: round numbers may be lost in it.
    fn can_use(&self, attempt: Attempt, text: &str) -> bool {
        let sentence = self.in_form(attempt.form);
        sentence.variants.can_use(attempt.way, &sentence.text, text)
    }

    pub(super) fn faults(&self, attempt: Attempt, text: &str, protection: &Protection) -> Faults {
        let sentence = self.in_form(attempt.form);
        protection.faults_of(&sentence.text, &sentence.kept, text)
    }

    /// Returns the further attempts after a faulty translation, the next one last.
    fn ways(&self, attempt: Attempt, faults: Faults) -> Vec<Attempt> {
        let form = attempt.form;
        let can_hide = form != Form::Hidden && self.has_hidden();
        let is_of_copied = faults.contains(Fault::Copied) || faults.contains(Fault::Numbers);
        let hides = can_hide && (is_of_copied || form == Form::Required);
        let hidden = Attempt {
            form: Form::Hidden,
            way: Way::Usual,
        };
        let variants = &self.in_form(form).variants;
        let ways = [
            (Way::Wide, true),
            (Way::LowerCase, variants.lower.is_some()),
            (Way::NoRepeats, faults.contains(Fault::Repetition)),
            (
                Way::Round,
                faults.contains(Fault::Numbers) && variants.round.is_some(),
            ),
        ];
        let ways = ways.into_iter();
        let ways = ways.filter(|(way, is_apt)| *is_apt && *way != attempt.way);
        let ways = ways.map(|(way, _)| Attempt { form, way });
        ways.chain(hides.then_some(hidden)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_text_weighs_more_than_any_other_fault() {
        let protection = Protection::placeholders().with_check(None);
        let weight = |translation| protection.faults("Pay 20 to %s", translation).weight();
        assert!(weight("%s: aaaaaaaaaaaa") < weight("20 zahlen"));
        assert!(weight("20 zahlen") < weight("…"));
    }
}
