//! `GET /v2/usage`: the number of translated characters.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::{Extension, Json};
use serde::Serialize;
use utoipa::ToSchema;

use super::request::DeeplError;
use super::request::{KeyOnly, admitted};
use crate::http::ApiError;
use crate::state::{Caller, Shared};

/// The limit that DeepL reports for accounts without one.
const NO_LIMIT: u64 = 1_000_000_000_000;

/// The number of characters of each key since the server started, or of all callers if there are no keys.
#[derive(Debug, Default)]
pub(super) struct Usage(Mutex<BTreeMap<u64, u64>>);

/// The number of translated characters, and its limit.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = deepl::UsageReply)]
pub(super) struct UsageReply {
    /// Characters since the server started.
    character_count: u64,
    /// The limit. There is none, so this is a number that cannot be reached.
    character_limit: u64,
}

impl Usage {
    /// Adds the characters of a request.
    pub(super) fn add(&self, shared: &Shared, caller: &Caller, n_chars: usize) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(account(shared, caller)).or_default() += n_chars as u64;
    }

    fn of(&self, shared: &Shared, caller: &Caller) -> u64 {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(&account(shared, caller)).copied().unwrap_or(0)
    }
}

/// Returns the number of the caller's key. Without keys all callers share one, since the number of addresses is
/// unbounded.
fn account(shared: &Shared, caller: &Caller) -> u64 {
    if shared.requires_key() { caller.id } else { 0 }
}

/// Returns the number of characters that the caller has translated.
#[utoipa::path(
    get,
    path = "/v2/usage",
    tag = "DeepL",
    responses(
        (status = 200, description = "The number of characters", body = UsageReply),
        (status = 403, description = "The API key is missing or not valid", body = DeeplError),
    )
)]
pub(super) async fn usage(
    State(shared): State<Arc<Shared>>,
    Extension(usage): Extension<Arc<Usage>>,
    request: Request,
) -> Result<Json<UsageReply>, ApiError> {
    let (caller, _): (_, KeyOnly) = admitted(&shared, request).await?;
    Ok(Json(UsageReply {
        character_count: usage.of(&shared, &caller),
        character_limit: NO_LIMIT,
    }))
}
