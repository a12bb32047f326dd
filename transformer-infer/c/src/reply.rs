//! [`parse`], [`write()`]: requests and replies of lines, as JSON.

use serde::Serialize;
use serde_json::{Map, Value};
use transformer_core::json;
use transformer_infer::Translator;
use transformer_infer::bindings::{AnyError, LineOptions, TranslatedLines, from_map};

/// The translations of a line.
#[derive(Debug, Serialize)]
struct Line<'a> {
    candidates: Vec<Candidate<'a>>,
    warning: Option<String>,
    unmet_terms: &'a [usize],
}

#[derive(Debug, Serialize)]
struct Candidate<'a> {
    text: &'a str,
    score: f64,
    log_prob: f64,
    tokens: Vec<String>,
    finished: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    alignment: Option<&'a [(usize, usize)]>,
}

/// Returns the lines of a request, and its options.
pub(crate) fn parse(request: &str) -> Result<(Vec<String>, LineOptions), AnyError> {
    let mut options: Map<String, Value> = json::from_slice(request.as_bytes())?;
    let lines = options
        .remove("lines")
        .ok_or("`lines` is missing; give an array of strings")?;
    let lines = json::from_value(&lines)?;
    Ok((lines, from_map(options)?))
}

/// Returns translations as JSON.
pub(crate) fn write(
    translator: &Translator,
    translated: &TranslatedLines,
) -> Result<String, AnyError> {
    let tokenizer = translator.tokenizers().tgt();
    let lines = translated
        .translations
        .iter()
        .enumerate()
        .map(|(index, translation)| {
            let alignments = translated
                .alignments
                .get(index)
                .map_or(&[][..], Vec::as_slice);
            let mut alignments = alignments.iter();
            let candidates = translation.candidates.iter().map(|candidate| Candidate {
                text: &candidate.text,
                score: candidate.hypothesis.score,
                log_prob: candidate.hypothesis.log_prob,
                tokens: candidate
                    .hypothesis
                    .ids
                    .iter()
                    .filter_map(|id| tokenizer.token(*id))
                    .collect(),
                finished: candidate.hypothesis.finished,
                alignment: alignments.next().map(|it| &it.pairs[..]),
            });
            Line {
                candidates: candidates.collect(),
                warning: translation.warning.map(|it| it.to_string()),
                unmet_terms: &translation.unmet_terms,
            }
        });
    Ok(serde_json::to_string(&lines.collect::<Vec<_>>())?)
}
