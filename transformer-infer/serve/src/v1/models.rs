//! `GET /v1/models`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use transformer_core::text::LanguageCode;
use utoipa::ToSchema;

use crate::http::{ApiError, Client, ErrorBody};
use crate::models::{LanguageNames, Listed, ModelFacts};
use crate::state::Shared;

/// The models of the server.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelsReply {
    /// The models, in the order of the server's options.
    pub(crate) models: Vec<ModelReply>,
    /// The languages of all models, in the order of their codes.
    pub(crate) languages: Vec<LanguageReply>,
    /// The code of the third language, if the server translates in two steps: from each language that a model
    /// translates into it, to each that a model translates from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pivot: Option<String>,
    /// `list`, for clients of OpenAI's interface.
    pub(crate) object: &'static str,
    /// The models once more, for clients of OpenAI's interface.
    pub(crate) data: Vec<OpenAiModel>,
}

/// A model, as clients of OpenAI's interface expect it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OpenAiModel {
    /// The name.
    pub(crate) id: String,
    /// `model`.
    pub(crate) object: &'static str,
    /// Not known, and 0.
    pub(crate) created: u64,
    /// `transformer-infer`.
    pub(crate) owned_by: &'static str,
}

/// A model.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelReply {
    /// The name.
    pub(crate) name: String,
    /// The source language, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<LanguageReply>,
    /// The target language, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<LanguageReply>,
    /// The codes of the source languages, if known.
    pub(crate) source_languages: Vec<String>,
    /// The codes of the target languages, if known. A model of several languages does not translate between a language
    /// and itself.
    pub(crate) target_languages: Vec<String>,
    /// Known facts about the model.
    #[serde(flatten)]
    pub(crate) facts: ModelFacts,
}

/// A language.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LanguageReply {
    /// The BCP 47 code.
    pub(crate) code: String,
    /// The name in English.
    pub(crate) name: String,
    /// The name in the language itself.
    pub(crate) native_name: String,
}

/// Lists the models.
#[utoipa::path(
    get,
    path = "/v1/models",
    responses(
        (status = 200, description = "The models", body = ModelsReply),
        (status = 503, description = "The models are not loaded yet", body = ErrorBody),
    )
)]
pub(super) async fn models(
    State(shared): State<Arc<Shared>>,
    client: Client,
) -> Result<Json<ModelsReply>, ApiError> {
    shared.check_key(client.key.as_deref())?;
    let models = shared.models()?;
    let languages = models.codes().into_iter();
    let languages = languages.filter_map(|code| code.parse().ok());
    let data = models.all.iter().map(|served| OpenAiModel {
        id: served.name.clone(),
        object: "model",
        created: 0,
        owned_by: "transformer-infer",
    });
    Ok(Json(ModelsReply {
        languages: languages.map(|code| language(&code)).collect(),
        models: models.all.iter().map(|served| model(served)).collect(),
        pivot: models.pivot.as_ref().map(ToString::to_string),
        object: "list",
        data: data.collect(),
    }))
}

fn model(served: &Listed) -> ModelReply {
    let languages = &served.languages;
    let codes = |all: Vec<&LanguageCode>| all.into_iter().map(ToString::to_string).collect();
    ModelReply {
        name: served.name.clone(),
        source: languages.src.as_ref().map(language),
        target: languages.tgt.as_ref().map(language),
        source_languages: codes(served.sources(None)),
        target_languages: codes(served.targets(None)),
        facts: served.facts.clone(),
    }
}

fn language(code: &LanguageCode) -> LanguageReply {
    let names = LanguageNames::of(code);
    LanguageReply {
        code: code.to_string(),
        name: names.english.to_owned(),
        native_name: names.native.to_owned(),
    }
}
