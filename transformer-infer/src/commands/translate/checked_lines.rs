//! [`CheckFlags`]: the flags for the check of translations; [`CheckedLines`]: translates lines again if their translations
//! have faults.

use std::collections::BTreeMap;

use clap::Args;
use transformer_core::text::Link;
use transformer_infer::document::{
    Attempt, DocumentError, DocumentLine, DocumentRules, Doubtful, DraftSentence, Protection,
    Split, Splitter, TokenLimits, Trial, translate_lines,
};
use transformer_infer::search::Search;
use transformer_infer::{Input, Translation, Translator};

use crate::commands::tell;

#[derive(Clone, Copy, Debug, Args)]
pub(super) struct CheckFlags {
    /// Check each translation, and translate again what lacks numbers, placeholders, URLs or e-mail addresses of its
    /// source, repeats itself, or has an odd length or script [default: only for documents].
    #[arg(long, conflicts_with_all = ["no_check", "prefix", "prefixes"])]
    check: bool,
    /// Do not check the translations of a document.
    #[arg(long, requires = "document")]
    no_check: bool,
}

impl CheckFlags {
    /// Adds the check to the protection of a document, unless a flag forbids it.
    pub(super) fn of_document(self, protection: Protection, translator: &Translator) -> Protection {
        match self.no_check {
            true => protection,
            false => protection.with_check(translator.languages().tgt.as_ref()),
        }
    }

    pub(super) fn of_lines(self, translator: &Translator) -> Option<Protection> {
        let target = translator.languages().tgt.as_ref();
        self.check
            .then(|| Protection::placeholders().with_check(target))
    }
}

/// Prints the number of doubtful translations; `unit` is the name of what was translated.
pub(super) fn print_doubtful(doubtful: Doubtful, unit: &str) {
    let Doubtful { n, faults, first } = doubtful;
    if n > 0 {
        let many = if n == 1 { "" } else { "s" };
        tell(format_args!(
            "warning: {n} doubtful translation{many} ({faults}); the first is that of {unit} {first}"
        ));
    }
}

/// The check of lines that are no document.
#[derive(Debug)]
pub(super) struct CheckedLines {
    protection: Protection,
    splitter: Splitter,
    /// True if copied text may be taken out of lines: only their best translations are printed, without their tokens.
    takes_out: bool,
    /// The doubtful translations so far, numbered by their lines from 1.
    pub(super) doubtful: Doubtful,
}

struct Faulty {
    index: usize,
    draft: DraftSentence,
    trial: Trial<(Translation, Vec<Link>)>,
}

impl CheckedLines {
    pub(super) fn new(protection: Protection, takes_out: bool) -> Self {
        Self {
            protection,
            splitter: Splitter::new(Split::None, "en"),
            takes_out,
            doubtful: Doubtful::default(),
        }
    }

    /// Replaces faulty translations of lines, unless the further attempts are worse.
    pub(super) fn mend(
        &mut self,
        translator: &Translator,
        search: &Search,
        inputs: &[Input<'_>],
        translations: &mut [Translation],
    ) -> Result<(), DocumentError> {
        let (mut found, mut faulty) = (BTreeMap::new(), Vec::new());
        for (index, (input, translation)) in inputs.iter().zip(&*translations).enumerate() {
            let faults = self.protection.faults(input.text, translation.text());
            if !faults.is_empty() {
                found.insert(index, faults);
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
            for (mut it, (mut translation, line)) in faulty.into_iter().zip(translated) {
                let input = &inputs[it.index];
                // Copied text was required after the terms.
                let n_terms = input.terms.len();
                translation.unmet_terms.retain(|term| *term < n_terms);
                let first = &mut translations[it.index];
                translation.candidates.truncate(first.candidates.len());
                let (trial, translated) = (&mut it.trial, (translation, line.links));
                if it
                    .draft
                    .take(trial, &line.text, translated, &self.protection)
                {
                    waiting.push(it);
                } else if let Some(best) = it.trial.take_best() {
                    let (mut translation, links) = best.translation;
                    let text = translation.text();
                    let mut written =
                        it.draft
                            .translation(best.attempt, text, &links, &self.protection);
                    written.text.insert_str(0, list_mark(input.text, &it.draft));
                    let faults = self.protection.faults(input.text, &written.text);
                    // As in documents, the first one stays only if it is better.
                    if faults.weight() <= found[&it.index].weight() {
                        for candidate in translation.candidates.iter_mut().take(1) {
                            candidate.text.clone_from(&written.text);
                        }
                        *first = translation;
                        found.insert(it.index, faults);
                    }
                }
            }
            faulty = waiting;
        }
        for (index, faults) in found {
            self.doubtful.add(inputs[index].index + 1, faults);
        }
        Ok(())
    }

    /// Returns a line that is translated again; none if it is too long, or if the model cannot write its copied text,
    /// which must stay in it.
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
        let mut trial = match self.takes_out {
            true => Trial::default(),
            false => Trial::shown(),
        };
        let has_mark = !list_mark(input.text, &draft).is_empty();
        let has_next = match has_mark || draft.needs_links(Attempt::default()) {
            // The line of the draft is another, and is not translated yet.
            true => self.takes_out && !draft.is_copied(),
            false => {
                let (text, translation) = (translation.text(), translation.clone());
                draft.take(
                    &mut trial,
                    text,
                    (translation, Vec::new()),
                    &self.protection,
                )
            }
        };
        has_next.then_some(Faulty {
            index,
            draft,
            trial,
        })
    }
}

/// Returns the list mark before the only sentence of a line.
fn list_mark<'a>(line: &'a str, draft: &DraftSentence) -> &'a str {
    line[..draft.range.start].trim_start()
}
