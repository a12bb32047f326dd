//! Translates sentence pairs and collects the counts for BLEU, chrF and exact match.

use serde::{Deserialize, Serialize};
use transformer_core::Transformer;
use transformer_core::text::Tokenizer;
use transformer_search::Search;
use transformer_translate::{BatchLimits, Source, translate_sources};

use super::metrics::TranslationCounts;
use super::text_scores::{TextMetrics, TextScores};
use crate::corpus::SentencePair;

/// Translates sentence pairs and scores the translations, after every interval and at the end of a run.
#[derive(Clone, Debug)]
pub(crate) struct PairTranslator {
    pub(crate) search: Search,
    pub(crate) limits: BatchLimits,
    pub(crate) tokenizer: Tokenizer,
    pub(crate) metrics: TextMetrics,
    /// The tags of targets, as ids: a translation begins with the tag of its pair.
    pub(crate) target_tags: Vec<Vec<u32>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Translation {
    /// The tokens of the best hypothesis, if the search found a finished one.
    finished: Option<Vec<u32>>,
    /// Its text; empty without a hypothesis.
    pub(crate) text: String,
}

impl AsRef<str> for Translation {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl PairTranslator {
    pub(crate) fn translate<S: AsRef<[u32]>>(
        &self,
        model: &Transformer,
        sources: &[S],
    ) -> Vec<Translation> {
        let sources = sources.iter().map(|ids| (ids.as_ref(), &[][..]));
        self.translate_with_prefixes(model, sources)
    }

    /// Translates the sources of pairs, and returns the translations in the same order, without the
    /// tags of their targets.
    pub(crate) fn translate_pairs(
        &self,
        model: &Transformer,
        pairs: &[SentencePair],
    ) -> Vec<Translation> {
        let sources = pairs
            .iter()
            .map(|pair| (pair.src.as_slice(), self.tag_of(&pair.tgt)));
        self.translate_with_prefixes(model, sources)
    }

    fn tag_of(&self, tgt: &[u32]) -> &[u32] {
        let tags = self.target_tags.iter().filter(|tag| tgt.starts_with(tag));
        tags.max_by_key(|tag| tag.len()).map_or(&[], Vec::as_slice)
    }

    /// Translates sources, each with the tokens at the start of its translation.
    fn translate_with_prefixes<'a>(
        &self,
        model: &Transformer,
        sources: impl Iterator<Item = (&'a [u32], &'a [u32])>,
    ) -> Vec<Translation> {
        let source = |((ids, prefix), index)| Source {
            ids,
            prefix,
            index,
            ..Source::default()
        };
        let sources: Vec<Source<'_>> = sources.zip(0..).map(source).collect();
        let Self { search, limits, .. } = self;
        // Otherwise an adapted matrix is summed again at every token, on backends that do not pack it.
        let merged = model.clone().merge_adapters();
        let found = translate_sources(&[&merged], &sources, search, limits, &mut |_| ());
        let best = found.into_iter().map(|found| found.into_iter().next());
        best.zip(&sources)
            .map(|(hypothesis, Source { prefix, .. })| Translation {
                text: match &hypothesis {
                    Some(hypothesis) => {
                        let ids = hypothesis.ids.get(prefix.len()..).unwrap_or_default();
                        self.tokenizer.decode(ids)
                    }
                    None => String::new(),
                },
                finished: hypothesis.filter(|it| it.finished).map(|it| it.ids),
            })
            .collect()
    }

    /// Compares translations with the targets of their pairs and the text of these.
    pub(crate) fn count<'a>(
        &self,
        translations: &'a [Translation],
        pairs: &[SentencePair],
        references: impl IntoIterator<Item = &'a str>,
    ) -> TranslationCounts {
        let is_exact = |(translation, pair): &(&Translation, &SentencePair)| {
            let best = translation.finished.as_ref();
            best.is_some_and(|ids| *ids == pair.tgt)
        };
        let texts = translations.iter().map(|it| it.text.as_str());
        TranslationCounts {
            n_sentences: translations.len(),
            n_exact: translations.iter().zip(pairs).filter(is_exact).count(),
            text: self.metrics.count(texts.zip(references)),
            texts: Vec::new(),
        }
    }

    pub(crate) fn scores(&self, counts: &TranslationCounts) -> TextScores {
        self.metrics.scores(&counts.text, counts.n_sentences)
    }
}
