//! [`TranslateRequest`]: the body of `POST /v1/translate`; [`JsonBody`]: a JSON body with errors that name the fault.

use std::collections::BTreeMap;
use std::fmt;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{DeserializeOwned, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use transformer_documents::Split;
use utoipa::ToSchema;

use crate::http::ApiError;
use crate::models::Selection;
use crate::translate::{TextFormat, TranslateOptions, glossary};

/// The body of `POST /v1/translate`. All fields except `text` are optional.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "these are the fields of the interface"
)]
pub(crate) struct TranslateRequest {
    /// A text, or a list of texts.
    #[schema(value_type = Object)]
    pub(crate) text: Texts,
    /// Code of the source language, such as `en`.
    pub(crate) source: Option<String>,
    /// Code of the target language, such as `pt-BR`.
    pub(crate) target: Option<String>,
    /// Name of a model, instead of languages.
    pub(crate) model: Option<String>,
    /// Format of the text. Default: `text`.
    #[serde(default)]
    pub(crate) format: TextFormat,
    /// If true, texts are split into sentences. Default: true.
    #[serde(default = "default_split")]
    pub(crate) split: bool,
    /// Number of translations of each sentence, 1 to 32. Default: 1.
    #[serde(default = "default_n_best")]
    pub(crate) n_best: usize,
    /// Number of hypotheses of beam search, 1 to 32; 1 is greedy search. Default: the model's.
    pub(crate) beam_size: Option<usize>,
    /// If true, the reply contains the aligned words.
    #[serde(default)]
    pub(crate) alignments: bool,
    /// If true, the reply contains the attention weights of all layers and heads for each sentence.
    #[serde(default)]
    pub(crate) attention: bool,
    /// If true, the reply contains scores.
    #[serde(default)]
    pub(crate) scores: bool,
    /// Source terms, each with the term that the translation must contain.
    #[serde(default)]
    pub(crate) terms: BTreeMap<String, String>,
    /// If true, the reply is a stream of events.
    #[serde(default)]
    pub(crate) stream: bool,
}

/// One text or several.
#[derive(Debug)]
pub(crate) struct Texts(pub(crate) Vec<String>);

fn default_split() -> bool {
    true
}

fn default_n_best() -> usize {
    1
}

impl TranslateRequest {
    /// Returns the requested models.
    pub(super) fn selection(&self) -> Selection<'_> {
        Selection {
            model: self.model.as_deref(),
            source: self.source.as_deref(),
            target: self.target.as_deref(),
        }
    }

    /// Returns the options, without a share of the budget for attention weights.
    pub(super) fn options(&self) -> Result<TranslateOptions, ApiError> {
        Ok(TranslateOptions {
            split: match self.split {
                true => Split::Sentences,
                false => Split::None,
            },
            n_best: self.n_best,
            beam_size: self.beam_size,
            alignments: self.alignments,
            attention: None,
            glossary: glossary(&self.terms)?,
            has_terms_alone: false,
        })
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextsVisitor)
    }
}

struct TextsVisitor;

impl<'de> Visitor<'de> for TextsVisitor {
    type Value = Texts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of texts")
    }

    fn visit_str<E>(self, text: &str) -> Result<Texts, E> {
        Ok(Texts(vec![text.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Texts, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Texts)
    }
}

/// A body of JSON. Other types of bodies are refused: browsers let every page send those.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let media_type = request.headers().get(CONTENT_TYPE);
        let media_type = media_type
            .and_then(|it| it.to_str().ok())
            .unwrap_or_default();
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        if !media_type.eq_ignore_ascii_case("application/json") {
            return Err(ApiError::MediaType);
        }
        let body = Bytes::from_request(request, state).await;
        let body = body.map_err(|_| ApiError::BrokenBody)?;
        let parsed = serde_json::from_slice(&body);
        let parsed = parsed.map_err(|error| ApiError::request(format!("invalid body: {error}")))?;
        Ok(Self(parsed))
    }
}
