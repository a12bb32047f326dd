//! `/language/translate/v2`: translations.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Data;
use crate::http::ApiError;
use crate::languages::{Asked, AskedFormat, answer};
use crate::libretranslate::{admitted, missing};
use crate::parameters::{Parameters, Texts, text, texts};
use crate::state::Shared;
use transformer_documents::Split;

/// A request for translations. Other parameters, such as `model`, have no effect.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = google::TranslateRequest)]
pub(super) struct TranslateRequest {
    /// The text, or several.
    #[serde(default, deserialize_with = "texts")]
    #[schema(required, value_type = Vec<String>)]
    q: Option<Texts>,
    /// The code of the target language.
    #[serde(default, deserialize_with = "text")]
    #[schema(required, nullable = false)]
    target: Option<String>,
    /// The code of the source language. Default: detected.
    #[serde(default, deserialize_with = "text")]
    source: Option<String>,
    /// `html`, the default, or `text`.
    #[serde(default, deserialize_with = "text")]
    format: Option<String>,
    /// The key, if the server requires one.
    #[serde(default, deserialize_with = "text")]
    key: Option<String>,
}

impl Parameters for TranslateRequest {
    fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }
}

/// The translations, in the order of the texts.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = google::Translations)]
pub(super) struct Translations {
    translations: Vec<Translation>,
}

/// A translation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = google::Translation)]
#[serde(rename_all = "camelCase")]
struct Translation {
    translated_text: String,
    /// The language of the text, if it was detected.
    #[serde(skip_serializing_if = "Option::is_none")]
    detected_source_language: Option<String>,
}

/// Translates texts.
#[utoipa::path(
    post,
    path = "/language/translate/v2",
    tag = "Google",
    request_body(content(
        (TranslateRequest = "application/json"),
        (TranslateRequest = "application/x-www-form-urlencoded"),
    )),
    responses(
        (status = 200, description = "The translations", body = Data<Translations>),
        (status = 400, description = "A parameter is missing or not valid"),
        (status = 403, description = "The API key is missing"),
        (status = 429, description = "Too many requests; see Retry-After"),
    )
)]
pub(super) async fn translate(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Json<Data<Translations>>, ApiError> {
    let (caller, parameters): (_, TranslateRequest) = admitted(&shared, request).await?;
    let texts = parameters.q.ok_or_else(|| missing("q"))?;
    let target = parameters.target.ok_or_else(|| missing("target"))?;
    let source = parameters.source.as_deref();
    let format = match parameters.format.as_deref() {
        None | Some("html") => AskedFormat::Html,
        Some("text") => AskedFormat::Text,
        Some(other) => {
            let other: String = other.chars().take(40).collect();
            let text = format!("`format` is `{other}`, expected `html` or `text`");
            return Err(ApiError::request(text));
        }
    };
    let asked = Asked {
        texts: texts.as_slice(),
        source,
        target: &target,
        format,
        split: Split::Sentences,
        n_best: 1,
    };
    let answers = answer(&shared, &caller, &asked).await?.into_iter();
    let translations = answers.map(|answer| Translation {
        translated_text: answer.text,
        detected_source_language: source.is_none().then_some(answer.source),
    });
    Ok(Json(Data {
        data: Translations {
            translations: translations.collect(),
        },
    }))
}
