//! [`router`]: the paths under `/v1`.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use utoipa::OpenApi;

use super::attention::attention;
use super::models::models;
use super::translate::translate;
use crate::http::{KeyPlace, guarded};
use crate::state::Shared;

#[derive(OpenApi)]
#[openapi(
    paths(
        super::translate::translate,
        super::attention::attention,
        super::models::models
    ),
    components(schemas(super::attention::AttentionFormat))
)]
pub(crate) struct Paths;

pub(crate) fn router(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    let router = Router::new()
        .route("/v1/translate", post(translate))
        .route("/v1/attention", post(attention))
        .route("/v1/models", get(models));
    guarded(router, shared, KeyPlace::Head)
}
