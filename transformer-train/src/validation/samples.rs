//! Validation sentences with translations that are shown at every validation.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::corpus::SentencePair;

/// A validation sentence and its translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The source.
    pub src: String,
    /// The reference.
    pub reference: String,
    /// The model's translation.
    pub translation: String,
}

impl Sample {
    /// Returns a line for each of the three texts, after its name.
    pub(crate) fn lines(&self) -> [String; 3] {
        [
            format!("source       {}", self.src),
            format!("reference    {}", self.reference),
            format!("translation  {}", self.translation),
        ]
    }
}

/// Sample sentences with their latest translations; clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(Arc<Mutex<Vec<SampleState>>>);

#[derive(Debug)]
struct SampleState {
    pair: SentencePair,
    src: String,
    reference: String,
    translation: Option<String>,
}

impl Samples {
    pub(crate) fn new<'a>(
        sentences: impl IntoIterator<Item = (&'a SentencePair, &'a (String, String))>,
    ) -> Self {
        let samples = sentences
            .into_iter()
            .map(|(pair, (src, reference))| SampleState {
                pair: pair.clone(),
                src: src.clone(),
                reference: reference.clone(),
                translation: None,
            });
        Self(Arc::new(Mutex::new(samples.collect())))
    }

    /// Stores the translations of those pairs that are samples.
    pub(crate) fn update(&self, pairs: &[SentencePair], translations: &[impl AsRef<str>]) {
        let mut samples = self.0.lock();
        for (pair, translation) in pairs.iter().zip(translations) {
            let same = samples.iter_mut().filter(|sample| sample.pair == *pair);
            same.for_each(|sample| sample.translation = Some(translation.as_ref().to_owned()));
        }
    }

    /// Returns the samples translated so far, each on a single line: control characters become spaces.
    pub(crate) fn latest(&self) -> Vec<Sample> {
        let samples = self.0.lock();
        let one_line = |text: &str| text.replace(char::is_control, " ");
        let translated = samples.iter().filter_map(|sample| {
            Some(Sample {
                src: one_line(&sample.src),
                reference: one_line(&sample.reference),
                translation: one_line(sample.translation.as_ref()?),
            })
        });
        translated.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_their_latest_translation_and_are_left_out_without_one() {
        let pair = |id: u32| SentencePair {
            src: vec![id],
            tgt: vec![id],
        };
        let text = |text: &str| (text.to_owned(), format!("ref {text}"));
        let (pairs, texts) = ([pair(4), pair(5)], [text("a"), text("b\tc\n")]);
        let samples = Samples::new(pairs.iter().zip(&texts));
        samples.update(&[pair(6), pair(5)], &["six", "old"]);
        samples.update(&[pair(5)], &["new"]);
        let expected = Sample {
            src: "b c ".to_owned(),
            reference: "ref b c ".to_owned(),
            translation: "new".to_owned(),
        };
        assert_eq!(samples.latest(), [expected]);
    }
}
