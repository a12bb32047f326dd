//! `POST /v2/translate`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::error::{DeeplError, unsupported};
use super::request::{admitted, check_options, of_languages, target};
use super::usage::Usage;
use crate::document::Split;
use crate::document::format::XmlOptions;
use crate::serve::http::ApiError;
use crate::serve::languages::{Answer, Asked, AskedFormat, answer};
use crate::serve::parameters::Parameters;
use crate::serve::state::Shared;

/// A request for translations.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = deepl::TranslateRequest)]
#[expect(dead_code, reason = "only documents what the parameters are")]
pub(super) struct TranslateRequest {
    /// The texts. Forms repeat the name.
    text: Vec<String>,
    /// The code of the target language, such as `DE` or `EN-US`.
    target_lang: String,
    /// The code of the source language; detected if missing.
    source_lang: Option<String>,
    /// `html` or `xml`, if the texts have tags.
    tag_handling: Option<String>,
    /// For XML: elements that are not translated.
    ignore_tags: Option<Vec<String>>,
    /// For XML: elements with tags that end a sentence.
    splitting_tags: Option<Vec<String>>,
    /// For XML: elements with tags that do not end a sentence.
    non_splitting_tags: Option<Vec<String>>,
    /// For XML: if true, the structure of a document ends sentences; the default.
    outline_detection: Option<bool>,
    /// Formal translations: `more` and `less` are refused, preferences are ignored.
    formality: Option<String>,
}

/// Translations.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = deepl::TranslateReply)]
pub(super) struct TranslateReply {
    /// One translation for each text.
    translations: Vec<Translation>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = deepl::Translation)]
struct Translation {
    /// The code of the source language, in capital letters.
    detected_source_language: String,
    /// The translation.
    text: String,
    /// Number of characters of the text, in Unicode code points.
    billed_characters: usize,
}

/// Translates texts.
#[utoipa::path(
    post,
    path = "/v2/translate",
    tag = "DeepL",
    request_body(content(
        (TranslateRequest = "application/json"),
        (TranslateRequest = "application/x-www-form-urlencoded"),
    )),
    responses(
        (status = 200, description = "The translations", body = TranslateReply),
        (status = 400, description = "A parameter is missing or wrong", body = DeeplError),
        (status = 403, description = "The key is missing or wrong", body = DeeplError),
        (status = 413, description = "The texts are too long", body = DeeplError),
        (status = 429, description = "Too many requests; see Retry-After", body = DeeplError),
    )
)]
pub(super) async fn translate(
    State(shared): State<Arc<Shared>>,
    Extension(usage): Extension<Arc<Usage>>,
    request: Request,
) -> Result<Json<TranslateReply>, ApiError> {
    let (caller, parameters) = admitted(&shared, request).await?;
    let texts = parameters.texts("text")?;
    let texts = texts
        .as_ref()
        .map(|texts| texts.as_slice())
        .unwrap_or_default();
    if texts.is_empty() {
        return Err(ApiError::request("Parameter 'text' not specified."));
    }
    check_options(&parameters)?;
    let asked = Asked {
        texts,
        source: parameters.text("source_lang"),
        target: target(&parameters)?,
        format: format(&parameters)?,
        split: split(&parameters)?,
        n_best: 1,
    };
    let answers = answer(&shared, &caller, &asked).await;
    let answers = answers.map_err(|error| of_languages(error, &parameters))?;
    usage.add(
        &shared,
        &caller,
        texts.iter().map(|text| text.chars().count()).sum(),
    );
    let translation = |(answer, text): (Answer, &String)| Translation {
        detected_source_language: source_code(&answer.source),
        text: answer.text,
        billed_characters: text.chars().count(),
    };
    let translations = answers.into_iter().zip(texts).map(translation).collect();
    Ok(Json(TranslateReply { translations }))
}

/// Returns the format of the texts.
fn format(parameters: &Parameters) -> Result<AskedFormat, ApiError> {
    Ok(match parameters.text("tag_handling") {
        None => AskedFormat::Text,
        Some("html") => AskedFormat::Html,
        Some("xml") => AskedFormat::Xml(Arc::new(XmlOptions {
            splitting_tags: parameters.list("splitting_tags"),
            non_splitting_tags: parameters.list("non_splitting_tags"),
            ignored_tags: parameters.list("ignore_tags"),
            has_outline: parameters.flag("outline_detection") != Some(false),
        })),
        Some(_) => return Err(unsupported("tag_handling")),
    })
}

/// Returns the splitting of texts: `0` keeps them whole, as far as the model allows.
fn split(parameters: &Parameters) -> Result<Split, ApiError> {
    match parameters.text("split_sentences") {
        None | Some("1" | "nonewlines") => Ok(Split::Sentences),
        Some("0") => Ok(Split::None),
        Some(_) => Err(unsupported("split_sentences")),
    }
}

/// Returns the code of a source language, without a region.
fn source_code(code: &str) -> String {
    code.split('-').next().unwrap_or(code).to_ascii_uppercase()
}
