//! Validation sentences that are shown at every validation, with what the model makes of them.

use std::sync::{Arc, Mutex, PoisonError};

use crate::corpus::SentencePair;
use crate::run::Sample;

/// Holds sentences and their latest translations; its clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(Arc<Mutex<Vec<Shown>>>);

#[derive(Debug)]
struct Shown {
    pair: SentencePair,
    src: String,
    reference: String,
    translation: Option<String>,
}

impl Samples {
    /// Takes the sentences to show, as ids and as text.
    pub(crate) fn new<'a>(
        sentences: impl IntoIterator<Item = (&'a SentencePair, &'a (String, String))>,
    ) -> Self {
        let shown = sentences.into_iter().map(|(pair, (src, reference))| Shown {
            pair: pair.clone(),
            src: src.clone(),
            reference: reference.clone(),
            translation: None,
        });
        Self(Arc::new(Mutex::new(shown.collect())))
    }

    /// Looks for the sentences to show among those that were translated.
    pub(crate) fn look(&self, pairs: &[SentencePair], translations: &[String]) {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (pair, translation) in pairs.iter().zip(translations) {
            let same = shown.iter_mut().filter(|shown| shown.pair == *pair);
            same.for_each(|shown| shown.translation = Some(translation.clone()));
        }
    }

    /// Returns the sentences that were translated, each as one line: control characters are spaces.
    pub(crate) fn latest(&self) -> Vec<Sample> {
        let shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let one_line = |text: &str| text.replace(char::is_control, " ");
        let translated = shown.iter().filter_map(|shown| {
            Some(Sample {
                src: one_line(&shown.src),
                reference: one_line(&shown.reference),
                translation: one_line(shown.translation.as_ref()?),
            })
        });
        translated.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_translation_is_shown_and_what_has_none_is_not() {
        let pair = |id: u32| SentencePair {
            src: vec![id],
            tgt: vec![id],
        };
        let text = |text: &str| (text.to_owned(), format!("ref {text}"));
        let (pairs, texts) = ([pair(4), pair(5)], [text("a"), text("b\tc\n")]);
        let samples = Samples::new(pairs.iter().zip(&texts));
        samples.look(&[pair(6), pair(5)], &["six".to_owned(), "old".to_owned()]);
        samples.look(&[pair(5)], &["new".to_owned()]);
        let expected = Sample {
            src: "b c ".to_owned(),
            reference: "ref b c ".to_owned(),
            translation: "new".to_owned(),
        };
        assert_eq!(samples.latest(), [expected]);
    }
}
