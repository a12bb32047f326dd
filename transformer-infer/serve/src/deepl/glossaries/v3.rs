//! `/v3/glossaries`: glossaries of several pairs of languages.

use std::mem::take;

use axum::Json;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::request::{DeeplError, KeyOnly};
use super::{DictionaryRequest, GlossaryRequest, PairRequest, merge, put, stored, tsv};
use crate::glossaries::{Dictionary, DictionaryInfo, GlossaryInfo};
use crate::http::ApiError;
use crate::parameters::{Admitted, PathPart};
use crate::state::Shared;

/// A glossary of several pairs of languages.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = deepl::MultilingualGlossary)]
pub(in crate::deepl) struct MultilingualReply {
    glossary_id: String,
    name: String,
    dictionaries: Vec<DictionaryInfo>,
    /// The time of creation, as in ISO 8601.
    creation_time: String,
}

/// Glossaries of several pairs of languages.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = deepl::MultilingualGlossaries)]
pub(in crate::deepl) struct MultilingualsReply {
    glossaries: Vec<MultilingualReply>,
}

/// The entries of a dictionary.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = deepl::DictionaryEntries)]
pub(in crate::deepl) struct DictionaryEntries {
    source_lang: String,
    target_lang: String,
    /// Terms and translations, with a tab between them, one pair a line.
    entries: String,
    /// `tsv`.
    entries_format: &'static str,
}

/// The entries of a pair of languages.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = deepl::EntriesReply)]
pub(in crate::deepl) struct EntriesReply {
    dictionaries: Vec<DictionaryEntries>,
}

impl MultilingualReply {
    pub(super) fn new(info: GlossaryInfo) -> Self {
        Self {
            glossary_id: info.id,
            name: info.name,
            dictionaries: info.dictionaries,
            creation_time: info.creation_time,
        }
    }
}

/// Stores a new glossary.
#[utoipa::path(
    post,
    path = "/v3/glossaries",
    request_body = GlossaryRequest,
    responses(
        (status = 201, description = "The glossary", body = MultilingualReply),
        (status = 400, description = "A parameter is missing or not valid, or the server stores no glossaries", body = DeeplError),
        (status = 403, description = "The API key is missing or not valid", body = DeeplError),
        (status = 456, description = "The glossaries of the key would have more than its share of bytes", body = DeeplError),
        (status = 507, description = "The disk is full", body = DeeplError),
    )
)]
pub(in crate::deepl) async fn create(
    Admitted(shared, caller, parameters): Admitted<GlossaryRequest>,
) -> Result<(StatusCode, Json<MultilingualReply>), ApiError> {
    let dictionaries = dictionaries(&shared, &parameters)?;
    if dictionaries.is_empty() {
        return Err(ApiError::request("Glossary dictionaries must be provided"));
    }
    let name = parameters.name.unwrap_or_default();
    let info = stored(&shared, &caller, move |store, account| {
        store.create(&name, account, dictionaries)
    });
    let reply = MultilingualReply::new(info.await?);
    Ok((StatusCode::CREATED, Json(reply)))
}

/// Lists all glossaries.
#[utoipa::path(
    get,
    path = "/v3/glossaries",
    responses(
        (status = 200, description = "The glossaries", body = MultilingualsReply),
        (status = 403, description = "The API key is missing or not valid", body = DeeplError),
    )
)]
pub(in crate::deepl) async fn list(
    Admitted(shared, caller, _): Admitted<KeyOnly>,
) -> Result<Json<MultilingualsReply>, ApiError> {
    let all = stored(&shared, &caller, |store, account| store.list(account)).await?;
    let glossaries = all.into_iter().map(MultilingualReply::new).collect();
    Ok(Json(MultilingualsReply { glossaries }))
}

/// Describes a glossary.
#[utoipa::path(
    get,
    path = "/v3/glossaries/{id}",
    params(("id" = String, Path, description = "`glossary_id`")),
    responses(
        (status = 200, description = "The glossary", body = MultilingualReply),
        (status = 400, description = "The id is not valid", body = DeeplError),
        (status = 403, description = "The API key is missing or not valid", body = DeeplError),
        (status = 404, description = "The glossary does not exist", body = DeeplError),
    )
)]
pub(in crate::deepl) async fn describe(
    PathPart(id): PathPart,
    Admitted(shared, caller, _): Admitted<KeyOnly>,
) -> Result<Json<MultilingualReply>, ApiError> {
    let info = stored(&shared, &caller, move |store, account| {
        store.info(&id, account)
    });
    Ok(Json(MultilingualReply::new(info.await?)))
}

/// Changes the name of a glossary, and adds entries to its dictionaries: those with a known source replace it.
#[utoipa::path(
    patch,
    path = "/v3/glossaries/{id}",
    params(("id" = String, Path, description = "`glossary_id`")),
    request_body = GlossaryRequest,
    responses(
        (status = 200, description = "The glossary", body = MultilingualReply),
        (status = 400, description = "The id or a parameter is not valid", body = DeeplError),
        (status = 403, description = "The API key is missing or not valid", body = DeeplError),
        (status = 404, description = "The glossary does not exist", body = DeeplError),
        (status = 456, description = "The glossaries of the key would have more than its share of bytes", body = DeeplError),
        (status = 507, description = "The disk is full", body = DeeplError),
    )
)]
pub(in crate::deepl) async fn change(
    PathPart(id): PathPart,
    Admitted(shared, caller, parameters): Admitted<GlossaryRequest>,
) -> Result<Json<MultilingualReply>, ApiError> {
    let dictionaries = dictionaries(&shared, &parameters)?;
    let info = stored(&shared, &caller, move |store, account| {
        store.change(&id, account, |glossary| {
            glossary.name = parameters.name.unwrap_or(take(&mut glossary.name));
            dictionaries.into_iter().for_each(|it| merge(glossary, it));
            Ok(())
        })
    });
    Ok(Json(MultilingualReply::new(info.await?)))
}

/// Deletes a glossary.
#[utoipa::path(
    delete,
    path = "/v3/glossaries/{id}",
    params(("id" = String, Path, description = "`glossary_id`")),
    responses(
        (status = 204, description = "The glossary is deleted"),
        (status = 400, description = "The id is not valid", body = DeeplError),
        (status = 403, description = "The API key is missing or not valid", body = DeeplError),
        (status = 404, description = "The glossary does not exist", body = DeeplError),
    )
)]
pub(in crate::deepl) async fn delete(
    id: PathPart,
    admitted: Admitted<KeyOnly>,
) -> Result<StatusCode, ApiError> {
    super::v2::delete(id, admitted).await
}

/// Returns the entries of a dictionary.
#[utoipa::path(
    get,
    path = "/v3/glossaries/{id}/entries",
    params(("id" = String, Path, description = "`glossary_id`"), PairRequest),
    responses(
        (status = 200, description = "The entries", body = EntriesReply),
        (status = 400, description = "The id or a language is not valid", body = DeeplError),
        (status = 403, description = "The API key is missing or not valid", body = DeeplError),
        (status = 404, description = "The glossary or the dictionary does not exist", body = DeeplError),
    )
)]
pub(in crate::deepl) async fn entries(
    PathPart(id): PathPart,
    Admitted(shared, caller, parameters): Admitted<PairRequest>,
) -> Result<Json<EntriesReply>, ApiError> {
    let pair = parameters.pair(&shared)?;
    let glossary = stored(&shared, &caller, move |store, account| {
        store.read(&id, account)
    })
    .await?;
    let dictionary = glossary.of_pair(&pair).ok_or(ApiError::NotFound)?;
    let dictionaries = vec![DictionaryEntries {
        entries: tsv(dictionary),
        entries_format: "tsv",
        source_lang: pair.source_lang,
        target_lang: pair.target_lang,
    }];
    Ok(Json(EntriesReply { dictionaries }))
}

/// Stores a dictionary in the place of that of the same languages.
#[utoipa::path(
    put,
    path = "/v3/glossaries/{id}/dictionaries",
    params(("id" = String, Path, description = "`glossary_id`")),
    request_body = DictionaryRequest,
    responses(
        (status = 200, description = "The dictionary", body = DictionaryInfo),
        (status = 400, description = "The id or a parameter is not valid", body = DeeplError),
        (status = 403, description = "The API key is missing or not valid", body = DeeplError),
        (status = 404, description = "The glossary does not exist", body = DeeplError),
        (status = 456, description = "The glossaries of the key would have more than its share of bytes", body = DeeplError),
        (status = 507, description = "The disk is full", body = DeeplError),
    )
)]
pub(in crate::deepl) async fn put_dictionary(
    PathPart(id): PathPart,
    Admitted(shared, caller, parameters): Admitted<GlossaryRequest>,
) -> Result<Json<DictionaryInfo>, ApiError> {
    let dictionary = parameters.dictionary.dictionary(&shared)?;
    let info = dictionary.info();
    let changed = stored(&shared, &caller, move |store, account| {
        store.change(&id, account, |glossary| {
            put(glossary, dictionary);
            Ok(())
        })
    });
    changed.await?;
    Ok(Json(info))
}

/// Deletes a dictionary.
#[utoipa::path(
    delete,
    path = "/v3/glossaries/{id}/dictionaries",
    params(("id" = String, Path, description = "`glossary_id`"), PairRequest),
    responses(
        (status = 204, description = "The dictionary is deleted"),
        (status = 400, description = "The id or a language is not valid", body = DeeplError),
        (status = 403, description = "The API key is missing or not valid", body = DeeplError),
        (status = 404, description = "The glossary or the dictionary does not exist", body = DeeplError),
    )
)]
pub(in crate::deepl) async fn delete_dictionary(
    PathPart(id): PathPart,
    Admitted(shared, caller, parameters): Admitted<PairRequest>,
) -> Result<StatusCode, ApiError> {
    let pair = parameters.pair(&shared)?;
    let info = stored(&shared, &caller, move |store, account| {
        store.change(&id, account, |glossary| {
            glossary.of_pair(&pair).ok_or(ApiError::NotFound)?;
            glossary.dictionaries.retain(|it| it.pair != pair);
            Ok(())
        })
    });
    info.await.map(|_| StatusCode::NO_CONTENT)
}

/// Reads the dictionaries of a request, each of other languages.
fn dictionaries(
    shared: &Shared,
    parameters: &GlossaryRequest,
) -> Result<Vec<Dictionary>, ApiError> {
    let mut all: Vec<Dictionary> = Vec::new();
    for request in &parameters.dictionaries {
        let dictionary = request.dictionary(shared)?;
        if all.iter().any(|it| it.pair == dictionary.pair) {
            return Err(ApiError::request(
                "two dictionaries have the same languages; send their entries in one",
            ));
        }
        all.push(dictionary);
    }
    Ok(all)
}
