//! `/language/translate/v2/languages`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Data;
use crate::http::ApiError;
use crate::libretranslate::{admitted, english_name};
use crate::parameters::{Parameters, text};
use crate::state::Shared;

/// A request for the languages.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = google::LanguagesRequest)]
pub(super) struct LanguagesRequest {
    /// If given, languages have names, in English.
    #[serde(default, deserialize_with = "text")]
    target: Option<String>,
    /// The key, if the server requires one.
    #[serde(default, deserialize_with = "text")]
    key: Option<String>,
}

impl Parameters for LanguagesRequest {
    fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }
}

/// The languages, in the order of their codes.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = google::Languages)]
pub(super) struct Languages {
    languages: Vec<Language>,
}

/// A language.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = google::Language)]
struct Language {
    language: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

/// Lists the languages.
#[utoipa::path(
    get,
    path = "/language/translate/v2/languages",
    tag = "Google",
    responses((status = 200, description = "The languages", body = Data<Languages>))
)]
pub(super) async fn languages(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Json<Data<Languages>>, ApiError> {
    let (_, parameters): (_, LanguagesRequest) = admitted(&shared, request).await?;
    let models = shared.models()?;
    let languages = models.codes().into_iter().map(|code| Language {
        language: code.to_owned(),
        name: parameters.target.as_ref().map(|_| english_name(code)),
    });
    Ok(Json(Data {
        data: Languages {
            languages: languages.collect(),
        },
    }))
}
