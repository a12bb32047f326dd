//! `POST /v2/translate`.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::{Extension, Json};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::languages::Usage;
use super::request::{Common, DeeplError, unsupported};
use crate::http::{ApiError, doubtful_headers};
use crate::languages::{Answer, Asked, AskedFormat, answer};
use crate::parameters::{Admitted, OneOrMany, Parameters, flag, list, text};
use transformer_documents::Split;
use transformer_documents::format::XmlOptions;

/// A request for translations.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = deepl::TranslateRequest)]
pub(super) struct TranslateRequest {
    /// The texts. Forms repeat the name.
    #[serde(default)]
    #[schema(required, value_type = Vec<String>)]
    text: Option<OneOrMany<String>>,
    /// `html` or `xml`, if the texts have tags.
    #[serde(default, deserialize_with = "text")]
    tag_handling: Option<String>,
    /// `0`: texts are not split into sentences, as far as the model allows. `1` and `nonewlines`: they are; the
    /// default.
    #[serde(default, deserialize_with = "text_or_flag")]
    split_sentences: Option<String>,
    /// For XML: elements that are not translated.
    #[serde(default, deserialize_with = "list")]
    ignore_tags: Vec<String>,
    /// For XML: elements with tags that end a sentence.
    #[serde(default, deserialize_with = "list")]
    splitting_tags: Vec<String>,
    /// For XML: elements with tags that do not end a sentence.
    #[serde(default, deserialize_with = "list")]
    non_splitting_tags: Vec<String>,
    /// For XML: if true, the structure of a document ends sentences; the default.
    #[serde(default, deserialize_with = "flag")]
    outline_detection: Option<bool>,
    /// `quality_optimized`, `prefer_quality_optimized` or `latency_optimized`: there is one model for all, and the reply
    /// says that it is of the wanted kind.
    #[serde(default, deserialize_with = "text")]
    model_type: Option<String>,
    #[serde(flatten)]
    common: Common,
}

impl Parameters for TranslateRequest {}

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
    /// The kind of the model, if the request has `model_type`.
    #[serde(skip_serializing_if = "Option::is_none")]
    model_type_used: Option<&'static str>,
}

/// Translates texts.
#[utoipa::path(
    post,
    path = "/v2/translate",
    request_body(content(
        (TranslateRequest = "application/json"),
        (TranslateRequest = "application/x-www-form-urlencoded"),
    )),
    responses(
        (status = 200, description = "The translations", body = TranslateReply,
            headers(("x-doubtful-translations" = Option<String>, description = "Number and faults of doubtful translations"))),
        (status = 400, description = "A parameter is missing or not valid", body = DeeplError),
        (status = 403, description = "The API key is missing or not valid", body = DeeplError),
        (status = 413, description = "The texts are too long", body = DeeplError),
        (status = 429, description = "Too many requests; see Retry-After", body = DeeplError),
    )
)]
pub(super) async fn translate(
    Extension(usage): Extension<Arc<Usage>>,
    Admitted(shared, caller, parameters): Admitted<TranslateRequest>,
) -> Result<(HeaderMap, Json<TranslateReply>), ApiError> {
    let (texts, common) = (parameters.text.as_ref(), &parameters.common);
    let texts = texts.map(OneOrMany::as_slice).unwrap_or_default();
    if texts.is_empty() {
        return Err(ApiError::request("Parameter 'text' not specified."));
    }
    common.check_options()?;
    let model_type_used = parameters.model_type()?;
    let glossary = common.glossary(&shared, &caller).await?;
    let asked = Asked {
        texts,
        source: common.source_lang.as_deref(),
        target: common.target()?,
        format: parameters.format()?,
        split: parameters.split()?,
        n_alternatives: 0,
        glossary,
    };
    let answers = answer(&shared, &caller, &asked).await;
    let answers = answers.map_err(|error| common.of_languages(error))?;
    usage.add(
        &shared,
        &caller,
        texts.iter().map(|text| text.chars().count()).sum(),
    );
    let headers = doubtful_headers(answers.iter().map(|it| it.doubtful));
    let translation = |(answer, text): (Answer, &String)| Translation {
        detected_source_language: source_code(&answer.source),
        text: answer.text,
        billed_characters: text.chars().count(),
        model_type_used,
    };
    let translations = answers.into_iter().zip(texts).map(translation).collect();
    Ok((headers, Json(TranslateReply { translations })))
}

impl TranslateRequest {
    fn format(&self) -> Result<AskedFormat, ApiError> {
        Ok(match self.tag_handling.as_deref() {
            None => AskedFormat::Text,
            Some("html") => AskedFormat::Html,
            Some("xml") => AskedFormat::Xml(Arc::new(XmlOptions {
                splitting_tags: self.splitting_tags.clone(),
                non_splitting_tags: self.non_splitting_tags.clone(),
                ignored_tags: self.ignore_tags.clone(),
                has_outline: self.outline_detection != Some(false),
            })),
            Some(_) => return Err(unsupported("tag_handling")),
        })
    }

    fn model_type(&self) -> Result<Option<&'static str>, ApiError> {
        Ok(Some(match self.model_type.as_deref() {
            None => return Ok(None),
            Some("quality_optimized" | "prefer_quality_optimized") => "quality_optimized",
            Some("latency_optimized") => "latency_optimized",
            Some(_) => return Err(unsupported("model_type")),
        }))
    }

    fn split(&self) -> Result<Split, ApiError> {
        match self.split_sentences.as_deref() {
            None | Some("1" | "nonewlines") => Ok(Split::Sentences),
            Some("0") => Ok(Split::None),
            Some(_) => Err(unsupported("split_sentences")),
        }
    }
}

/// Reads a text, or a flag as `0` or `1`.
fn text_or_flag<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(value)? {
        Value::Bool(flag) => Ok(Some(u8::from(flag).to_string())),
        value => text(value).map_err(D::Error::custom),
    }
}

fn source_code(code: &str) -> String {
    code.split('-').next().unwrap_or(code).to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn split_sentences_is_text_a_number_or_a_flag() {
        let split = |value: Value| {
            let request = serde_json::from_value(json!({ "split_sentences": value }));
            let request: TranslateRequest = request.expect("all fields may be absent");
            request.split().ok()
        };
        for value in [json!("0"), json!(0), json!(false)] {
            assert_eq!(split(value), Some(Split::None));
        }
        for value in [json!("nonewlines"), json!(1), json!(true), json!(null)] {
            assert_eq!(split(value), Some(Split::Sentences));
        }
        assert_eq!(split(json!(2)), None);
    }
}
