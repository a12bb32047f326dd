//! [`Form`]: the forms of a sentence to try until its translation keeps the copied text.

use std::ops::Range;

use super::sentence::{Sentence, SentenceBuilder};
use crate::copied::Copied;
use crate::passage::Passage;
use transformer_protection::Protection;
use transformer_protection::kept::{Loss, loss};

/// The form in which a model gets copied text. Forms are tried in this order until a translation keeps the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Part of the sentence.
    #[default]
    Shown,
    /// Part of the sentence, and required in its translation.
    Required,
    /// Taken out of the sentence, and put back into its translation.
    Hidden,
}

impl Sentence {
    /// Makes a sentence of a segment. `copied` is the copied text inside the segment, and `marks` are the indices of
    /// the marks that are, begin, or end inside it. Text that the model cannot write is taken out at once, except for
    /// numbers.
    pub(crate) fn new(
        passage: &Passage,
        segment: &Range<usize>,
        copied: &[Copied],
        marks: &[usize],
        can_write: &dyn Fn(&str) -> bool,
    ) -> Self {
        let build = |hidden: &[&Copied], shown: &[(&Copied, bool)]| {
            SentenceBuilder::new(passage, segment, hidden, shown).build(marks)
        };
        let can_be_shown = |it: &Copied| it.can_be_shown(&passage.text, can_write);
        let all: Vec<(&Copied, bool)> = copied.iter().map(|it| (it, can_be_shown(it))).collect();
        // The order of items that programs fill by position is checked only if all are shown or all are hidden.
        let is_hidden = |(it, can_be_shown): &(&Copied, bool)| !can_be_shown && it.is_ordered();
        let hides_order = all.iter().any(is_hidden);
        // A number that the model cannot write unchanged may have another form in a translation.
        let is_shown = |(it, can_be_shown): &(&Copied, bool)| {
            (*can_be_shown || it.is_number()) && !(hides_order && it.is_ordered())
        };
        let (shown, others): (Vec<_>, Vec<_>) = all.iter().copied().partition(is_shown);
        let hidden = build(&copied.iter().collect::<Vec<_>>(), &[]);
        // Without other letters there is nothing to translate.
        if shown.is_empty() || !hidden.text.contains(char::is_alphabetic) {
            return hidden;
        }
        let others: Vec<&Copied> = others.into_iter().map(|(it, _)| it).collect();
        Self {
            hidden: Some(Box::new(hidden)),
            ..build(&others, &shown)
        }
    }

    pub(crate) fn in_form(&self, form: Form) -> &Self {
        match form {
            Form::Shown | Form::Required => self,
            Form::Hidden => self.hidden.as_deref().unwrap_or(self),
        }
    }

    pub(crate) fn terms(&self, form: Form) -> &[String] {
        match form {
            Form::Required => &self.terms,
            Form::Shown | Form::Hidden => &[],
        }
    }

    pub(crate) fn has_hidden(&self) -> bool {
        self.hidden.is_some()
    }

    /// Returns the next form to try, if a translation does not keep the copied text.
    pub(crate) fn next_form(
        &self,
        form: Form,
        translation: &str,
        protection: &Protection,
    ) -> Option<Form> {
        let has_next = form != Form::Hidden && self.hidden.is_some();
        let loss = has_next.then(|| loss(&self.text, &self.kept, translation, protection));
        Some(self.form_after(form, loss??))
    }

    /// Returns the form to try next, after the translation of `form` lost copied text.
    pub(crate) fn form_after(&self, form: Form, loss: Loss) -> Form {
        match (form, loss) {
            (Form::Shown, Loss::Missing) if !self.terms.is_empty() => Form::Required,
            _ => Form::Hidden,
        }
    }
}
