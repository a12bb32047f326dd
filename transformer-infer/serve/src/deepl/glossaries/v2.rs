//! `/v2/glossaries`: glossaries of one pair of languages each.

use std::collections::BTreeSet;

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::request::{DeeplError, KeyOnly};
use super::{GlossaryRequest, pairs_of, stored, tsv};
use crate::glossaries::{GlossaryInfo, Pair};
use crate::http::ApiError;
use crate::languages::pairs;
use crate::parameters::{Admitted, PathPart};

/// A glossary of one pair of languages.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = deepl::Glossary)]
pub(in crate::deepl) struct GlossaryReply {
    glossary_id: String,
    name: String,
    /// True: a stored glossary can be used.
    ready: bool,
    source_lang: String,
    target_lang: String,
    /// The time of creation, as in ISO 8601.
    creation_time: String,
    /// Number of entries.
    entry_count: usize,
}

/// Glossaries of one pair of languages.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = deepl::Glossaries)]
pub(in crate::deepl) struct GlossariesReply {
    glossaries: Vec<GlossaryReply>,
}

/// The pairs of languages of which there may be glossaries.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = deepl::LanguagePairs)]
pub(in crate::deepl) struct LanguagePairs {
    supported_languages: Vec<Pair>,
}

impl GlossaryReply {
    /// Describes a glossary of one pair of languages; `None` for others.
    pub(super) fn new(info: GlossaryInfo) -> Option<Self> {
        let [dictionary] = <[_; 1]>::try_from(info.dictionaries).ok()?;
        Some(Self {
            glossary_id: info.id,
            name: info.name,
            ready: true,
            source_lang: dictionary.source_lang,
            target_lang: dictionary.target_lang,
            creation_time: info.creation_time,
            entry_count: dictionary.entry_count,
        })
    }

    pub(super) fn of(info: GlossaryInfo) -> Result<Self, ApiError> {
        let several = || {
            ApiError::request("the glossary is not of one pair of languages; use /v3/glossaries")
        };
        Self::new(info).ok_or_else(several)
    }
}

/// Stores a new glossary of one pair of languages.
#[utoipa::path(
    post,
    path = "/v2/glossaries",
    request_body(content(
        (GlossaryRequest = "application/json"),
        (GlossaryRequest = "application/x-www-form-urlencoded"),
    )),
    responses(
        (status = 201, description = "The glossary", body = GlossaryReply),
        (status = 400, description = "A parameter is missing or not valid, or the server stores no glossaries", body = DeeplError),
        (status = 403, description = "The API key is missing or not valid", body = DeeplError),
        (status = 456, description = "The glossaries of the key would have more than its share of bytes", body = DeeplError),
        (status = 507, description = "The disk is full", body = DeeplError),
    )
)]
pub(in crate::deepl) async fn create(
    Admitted(shared, caller, parameters): Admitted<GlossaryRequest>,
) -> Result<(StatusCode, Json<GlossaryReply>), ApiError> {
    let name = parameters.name.unwrap_or_default();
    let dictionary = parameters.dictionary.dictionary(&shared)?;
    let info = stored(&shared, &caller, move |store, account| {
        store.create(&name, account, vec![dictionary])
    });
    let info = info.await?;
    Ok((StatusCode::CREATED, Json(GlossaryReply::of(info)?)))
}

/// Lists the glossaries of one pair of languages.
#[utoipa::path(
    get,
    path = "/v2/glossaries",
    responses(
        (status = 200, description = "The glossaries", body = GlossariesReply),
        (status = 403, description = "The API key is missing or not valid", body = DeeplError),
    )
)]
pub(in crate::deepl) async fn list(
    Admitted(shared, caller, _): Admitted<KeyOnly>,
) -> Result<Json<GlossariesReply>, ApiError> {
    let all = stored(&shared, &caller, |store, account| store.list(account)).await?;
    let glossaries = all.into_iter().filter_map(GlossaryReply::new).collect();
    Ok(Json(GlossariesReply { glossaries }))
}

/// Describes a glossary of one pair of languages.
#[utoipa::path(
    get,
    path = "/v2/glossaries/{id}",
    params(("id" = String, Path, description = "`glossary_id`")),
    responses(
        (status = 200, description = "The glossary", body = GlossaryReply),
        (status = 400, description = "The id is not valid, or the glossary is not of one pair", body = DeeplError),
        (status = 403, description = "The API key is missing or not valid", body = DeeplError),
        (status = 404, description = "The glossary does not exist", body = DeeplError),
    )
)]
pub(in crate::deepl) async fn describe(
    PathPart(id): PathPart,
    Admitted(shared, caller, _): Admitted<KeyOnly>,
) -> Result<Json<GlossaryReply>, ApiError> {
    let info = stored(&shared, &caller, move |store, account| {
        store.info(&id, account)
    });
    GlossaryReply::of(info.await?).map(Json)
}

/// Returns the entries of a glossary of one pair of languages.
#[utoipa::path(
    get,
    path = "/v2/glossaries/{id}/entries",
    params(("id" = String, Path, description = "`glossary_id`")),
    responses(
        (status = 200, description = "The entries", content_type = "text/tab-separated-values", body = String),
        (status = 400, description = "The id is not valid, or the glossary is not of one pair", body = DeeplError),
        (status = 403, description = "The API key is missing or not valid", body = DeeplError),
        (status = 404, description = "The glossary does not exist", body = DeeplError),
    )
)]
pub(in crate::deepl) async fn entries(
    PathPart(id): PathPart,
    Admitted(shared, caller, _): Admitted<KeyOnly>,
) -> Result<impl IntoResponse, ApiError> {
    let glossary = stored(&shared, &caller, move |store, account| {
        GlossaryReply::of(store.info(&id, account)?)?;
        store.read(&id, account)
    });
    let text = glossary
        .await?
        .dictionaries
        .first()
        .map(tsv)
        .unwrap_or_default();
    let kind = "text/tab-separated-values; charset=utf-8";
    Ok(([(CONTENT_TYPE, kind)], text))
}

/// Deletes a glossary.
#[utoipa::path(
    delete,
    path = "/v2/glossaries/{id}",
    params(("id" = String, Path, description = "`glossary_id`")),
    responses(
        (status = 204, description = "The glossary is deleted"),
        (status = 400, description = "The id is not valid", body = DeeplError),
        (status = 403, description = "The API key is missing or not valid", body = DeeplError),
        (status = 404, description = "The glossary does not exist", body = DeeplError),
    )
)]
pub(in crate::deepl) async fn delete(
    PathPart(id): PathPart,
    Admitted(shared, caller, _): Admitted<KeyOnly>,
) -> Result<StatusCode, ApiError> {
    let deleted = stored(&shared, &caller, move |store, account| {
        store.delete(&id, account)
    });
    deleted.await.map(|()| StatusCode::NO_CONTENT)
}

/// Lists the pairs of languages of which there may be glossaries.
#[utoipa::path(
    get,
    path = "/v2/glossary-language-pairs",
    responses(
        (status = 200, description = "The pairs", body = LanguagePairs),
        (status = 403, description = "The API key is missing or not valid", body = DeeplError),
    )
)]
pub(in crate::deepl) async fn language_pairs(
    Admitted(shared, _, _): Admitted<KeyOnly>,
) -> Result<Json<LanguagePairs>, ApiError> {
    let models = shared.models()?;
    let targets = pairs(&models);
    let pairs: BTreeSet<Pair> = pairs_of(&targets).collect();
    Ok(Json(LanguagePairs {
        supported_languages: pairs.into_iter().collect(),
    }))
}
