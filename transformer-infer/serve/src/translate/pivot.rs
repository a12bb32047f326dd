//! [`through_pivot`]: plain text through a third language, sentence by sentence.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use super::finish::lacks_term;
use super::plain::{PlainTexts, translate_plain};
use super::request::{
    Alternative, SentenceEvent, SentenceTranslation, TextTranslation, TranslateOptions,
};
use super::work::compute;
use crate::http::ApiError;
use crate::models::Served;
use crate::state::Caller;
use transformer_core::text::Link;
use transformer_documents::Split;

/// Translates the sentences into the third language, and each result further, as a line. Terms are found in the source
/// and required of the second model. Words are aligned if they are aligned through a word of the third language.
pub(super) async fn through_pivot(
    first: &Arc<Served>,
    second: &Arc<Served>,
    texts: Vec<String>,
    options: &TranslateOptions,
    caller: &Caller,
    events: Option<&UnboundedSender<SentenceEvent>>,
) -> Result<Vec<TextTranslation>, ApiError> {
    let best = TranslateOptions {
        n_best: 1,
        beam_size: None,
        ..options.clone()
    };
    let texts = PlainTexts {
        only_finds_terms: true,
        ..PlainTexts::of(texts)
    };
    let middle = translate_plain(first, texts, &best, caller, None).await?;
    let sentences = || middle.iter().flat_map(|text| &text.sentences);
    let lines = PlainTexts {
        terms: sentences().map(|sentence| sentence.terms.clone()).collect(),
        ..PlainTexts::of(sentences().map(|sentence| sentence.text.clone()).collect())
    };
    let whole_lines = TranslateOptions {
        split: Split::None,
        glossary: None,
        ..options.clone()
    };
    let further = translate_plain(second, lines, &whole_lines, caller, None).await?;
    let joined = compute(caller.id, move || Ok(joined_texts(middle, further))).await?;
    for (index, text) in joined.iter().enumerate() {
        for (sentence, translation) in text.sentences.iter().enumerate() {
            if let Some(events) = events {
                let _ = events.send(SentenceEvent {
                    text: index,
                    sentence,
                    translation: translation.clone(),
                });
            }
        }
    }
    Ok(joined)
}

/// Makes texts of the translations into the third language and of the translation of each of their sentences.
fn joined_texts(
    middle: Vec<TextTranslation>,
    further: Vec<TextTranslation>,
) -> Vec<TextTranslation> {
    let mut further = further.into_iter();
    let texts = middle.into_iter().map(|text| {
        let sentences = text.sentences.into_iter().zip(further.by_ref());
        let sentences = sentences.map(|(before, after)| joined(before, after));
        TextTranslation::join(sentences.collect(), text.gaps)
    });
    texts.collect()
}

fn joined(before: SentenceTranslation, after: TextTranslation) -> SentenceTranslation {
    let alignment = composed(&before.alignment, &after);
    let warnings = after.sentences.iter().filter_map(|it| it.warning.clone());
    let mut warnings: Vec<String> = before.warning.into_iter().chain(warnings).collect();
    let unmet = before
        .terms
        .iter()
        .filter(|term| !after.text.contains(*term));
    for warning in unmet.map(|term| lacks_term(term)) {
        // A sentence that the second model translates whole has the warning already.
        if !warnings.iter().any(|said| said.contains(&warning)) {
            warnings.push(warning);
        }
    }
    let (score, alternatives) = match after.sentences.as_slice() {
        [sentence] => (sentence.score, sentence.alternatives.clone()),
        _ => (None, Vec::<Alternative>::new()),
    };
    SentenceTranslation {
        source: before.source,
        text: after.text,
        score,
        alternatives,
        alignment,
        faults: before.faults.and(after.doubtful.faults),
        warning: (!warnings.is_empty()).then(|| warnings.join("; ")),
        ..SentenceTranslation::default()
    }
}

/// Returns the words that are aligned to the same word of the third language, in the order of the translation.
fn composed(before: &[Link], after: &TextTranslation) -> Vec<Link> {
    let links = after.sentences.iter().flat_map(|sentence| {
        let start = sentence.target.start;
        let links = sentence.alignment.iter();
        links.map(move |link| (&link.src, start + link.tgt.start, start + link.tgt.end))
    });
    // Words do not overlap, so their ends are in this order, too.
    let mut second: Vec<(&Range<usize>, usize, usize)> = links.collect();
    second.sort_by_key(|(src, ..)| src.start);
    let mut found = BTreeSet::new();
    for first in before {
        let begin = second.partition_point(|(src, ..)| src.end <= first.tgt.start);
        let meeting = second[begin..].iter();
        for (_, start, end) in meeting.take_while(|(src, ..)| src.start < first.tgt.end) {
            found.insert((*start, *end, first.src.start, first.src.end));
        }
    }
    let links = found.into_iter().map(|(start, end, src, src_end)| Link {
        src: src..src_end,
        tgt: start..end,
    });
    links.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(src: Range<usize>, tgt: Range<usize>) -> Link {
        Link { src, tgt }
    }

    #[test]
    fn words_belong_together_through_a_word_of_the_third_language() {
        // "der rote Hund" -> "the red dog" -> "le chien rouge", the last in two parts.
        let before = [link(0..3, 0..3), link(4..8, 4..7), link(9..13, 8..11)];
        let part = |target, alignment: &[Link]| SentenceTranslation {
            target,
            alignment: alignment.to_vec(),
            ..SentenceTranslation::default()
        };
        let after = TextTranslation {
            sentences: vec![
                part(0..2, &[link(0..3, 0..2)]),
                part(3..14, &[link(8..11, 0..5), link(4..7, 6..11)]),
            ],
            ..TextTranslation::default()
        };
        let expected = [link(0..3, 0..2), link(9..13, 3..8), link(4..8, 9..14)];
        assert_eq!(composed(&before, &after), expected);
    }
}
