//! `/language/translate/v2/detect`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Data;
use crate::http::ApiError;
use crate::languages::{Detection, detector};
use crate::libretranslate::{admitted, missing};
use crate::parameters::{Parameters, Texts, text, texts};
use crate::state::Shared;
use crate::translate::check_texts;

/// A request to detect languages.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = google::DetectRequest)]
pub(super) struct DetectRequest {
    /// The text, or several.
    #[serde(default, deserialize_with = "texts")]
    #[schema(required, value_type = Vec<String>)]
    q: Option<Texts>,
    /// The key, if the server requires one.
    #[serde(default, deserialize_with = "text")]
    key: Option<String>,
}

impl Parameters for DetectRequest {
    fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }
}

/// The languages of the texts, one list for each.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = google::Detections)]
pub(super) struct Detections {
    detections: Vec<[Detected; 1]>,
}

/// A language.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = google::Detected)]
#[serde(rename_all = "camelCase")]
struct Detected {
    /// The code; `und` if no language of the models is likely.
    language: String,
    /// From 0 to 1.
    confidence: f64,
    /// Always false, as at Google.
    is_reliable: bool,
}

/// Detects the language of each text, among those of the models.
#[utoipa::path(
    post,
    path = "/language/translate/v2/detect",
    tag = "Google",
    request_body(content(
        (DetectRequest = "application/json"),
        (DetectRequest = "application/x-www-form-urlencoded"),
    )),
    responses(
        (status = 200, description = "The languages", body = Data<Detections>),
        (status = 400, description = "The text is missing"),
    )
)]
pub(super) async fn detect(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Json<Data<Detections>>, ApiError> {
    let (caller, parameters): (_, DetectRequest) = admitted(&shared, request).await?;
    let texts = parameters.q.ok_or_else(|| missing("q"))?;
    check_texts(&shared, texts.as_slice(), &caller)?;
    let models = shared.models()?;
    let detector = detector(&models);
    let detected = texts.as_slice().iter().map(|text| {
        let found = detector.detect(text);
        let Detection { code, confidence } = found.unwrap_or_else(|| Detection {
            code: "und".to_owned(),
            confidence: 0.0,
        });
        [Detected {
            language: code,
            confidence,
            is_reliable: false,
        }]
    });
    Ok(Json(Data {
        data: Detections {
            detections: detected.collect(),
        },
    }))
}
