//! `GET /v1/models`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use transformer_core::text::{LanguageCode, LanguageTokens};
use utoipa::ToSchema;

use crate::http::{ApiError, Client, ErrorBody};
use crate::models::{LanguageNames, ModelFacts, Served};
use crate::state::Shared;

/// The models of the server.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelsReply {
    /// The models, in the order of the server's options.
    pub(crate) models: Vec<ModelReply>,
    /// The source languages, with the languages that each can be translated into, directly or through a third language.
    pub(crate) languages: Vec<SourceReply>,
}

/// A source language.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SourceReply {
    #[serde(flatten)]
    pub(crate) language: LanguageReply,
    /// The languages that it can be translated into.
    pub(crate) targets: Vec<LanguageReply>,
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
    /// The codes of all languages of a multilingual model, which translates between any two of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) languages: Vec<String>,
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
    let languages = models.targets().iter();
    let languages = languages.map(|(source, targets)| SourceReply {
        language: language(source),
        targets: targets.iter().map(language).collect(),
    });
    Ok(Json(ModelsReply {
        languages: languages.collect(),
        models: models.all().iter().map(|served| model(served)).collect(),
    }))
}

fn model(served: &Served) -> ModelReply {
    let languages = served.languages();
    let all = served.table().map_or(&[][..], LanguageTokens::all);
    ModelReply {
        languages: all
            .iter()
            .map(|language| language.code.to_string())
            .collect(),
        name: served.name().to_owned(),
        source: languages.src.as_ref().map(language),
        target: languages.tgt.as_ref().map(language),
        facts: served.facts().clone(),
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
