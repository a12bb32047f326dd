//! [`CheckedLines`]: translates lines again if their translations have faults.

use transformer_infer::document::{
    DocumentError, DocumentLine, DocumentRules, Doubtful, DraftSentence, Protection, Split,
    Splitter, TokenLimits, Trial, translate_lines,
};
use transformer_infer::search::Search;
use transformer_infer::{Input, Translation, Translator};

/// The check of lines that are no document. Copied text stays in them.
#[derive(Debug)]
pub(super) struct CheckedLines {
    protection: Protection,
    splitter: Splitter,
    /// The doubtful translations so far, numbered by their lines from 1.
    pub(super) doubtful: Doubtful,
}

/// A line with a faulty translation.
struct Faulty {
    /// Its index among the lines.
    index: usize,
    draft: DraftSentence,
    trial: Trial<Translation>,
}

impl CheckedLines {
    pub(super) fn new(protection: Protection) -> Self {
        Self {
            protection,
            splitter: Splitter::new(Split::None, "en"),
            doubtful: Doubtful::default(),
        }
    }

    /// Replaces faulty translations of lines by better ones, if there are any.
    pub(super) fn mend(
        &mut self,
        translator: &Translator,
        search: &Search,
        inputs: &[Input<'_>],
        translations: &mut [Translation],
    ) -> Result<(), DocumentError> {
        let (mut found, mut faulty) = (Vec::new(), Vec::new());
        for (index, (input, translation)) in inputs.iter().zip(&*translations).enumerate() {
            let faults = self.protection.faults(input.text, translation.text());
            if !faults.is_empty() {
                found.push((index, faults));
                faulty.extend(self.faulty(translator, input, index, translation));
            }
        }
        while !faulty.is_empty() {
            let lines: Vec<DocumentLine<'_>> = faulty
                .iter()
                .map(|it| {
                    it.draft
                        .document_line(it.trial.attempt(), inputs[it.index].index)
                })
                .collect();
            let terms = |line: usize| inputs[faulty[line].index].terms;
            let means = (translator, search, &self.protection);
            let translated = translate_lines(means, &lines, terms, &mut |_| ())?;
            let mut waiting = Vec::new();
            for (mut it, (mut translation, _)) in faulty.into_iter().zip(translated) {
                let n_terms = inputs[it.index].terms.len();
                // Copied text was required after the terms.
                translation.unmet_terms.retain(|term| *term < n_terms);
                let n_candidates = translations[it.index].candidates.len();
                translation.candidates.truncate(n_candidates);
                let text = translation.text().to_owned();
                if it
                    .draft
                    .take(&mut it.trial, &text, translation, &self.protection)
                {
                    waiting.push(it);
                } else if let Some(best) = it.trial.into_best() {
                    translations[it.index] = best.translation;
                    found.retain(|(index, _)| *index != it.index);
                    found.push((it.index, best.faults));
                }
            }
            faulty = waiting;
        }
        found.sort_by_key(|(index, _)| *index);
        for (index, faults) in found {
            self.doubtful.add(inputs[index].index + 1, faults);
        }
        Ok(())
    }

    /// Returns a line that is translated again; none if it is too long.
    fn faulty(
        &self,
        translator: &Translator,
        input: &Input<'_>,
        index: usize,
        translation: &Translation,
    ) -> Option<Faulty> {
        let tokenizers = translator.tokenizers();
        let max_tokens = translator.limits().max_src_len;
        let rules = DocumentRules {
            limits: &TokenLimits::new(tokenizers.src(), tokenizers.tgt(), max_tokens),
            splitter: &self.splitter,
            protection: &self.protection,
        };
        let mut sentences = rules.draft(input.text).sentences;
        let draft = sentences.pop().filter(|_| sentences.is_empty())?;
        let mut trial = Trial::shown();
        let (text, translation) = (translation.text(), translation.clone());
        let has_next = draft.take(&mut trial, text, translation, &self.protection);
        has_next.then_some(Faulty {
            index,
            draft,
            trial,
        })
    }
}
