//! `POST /v1/attention`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tokio::task::spawn_blocking;
use transformer_translate::TranslatorError;
use transformer_translate::attention::{Attention, Selection, page, page_data};
use utoipa::{IntoParams, ToSchema};

use super::JsonBody;
use crate::http::{ApiError, Client, ErrorBody, guarded_body};
use crate::models::{self, Served};
use crate::state::Shared;
use crate::translate::{MAX_ATTENTION_TOKENS, check_texts, translate_line};

/// The policy of the attention page: it may run its own script, and nothing else.
const POLICY: &str = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; \
                      style-src 'unsafe-inline'; img-src data:";

/// The body of `POST /v1/attention`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttentionRequest {
    /// One sentence.
    pub(crate) source: String,
    /// Its translation. Default: the model's own.
    pub(crate) target: Option<String>,
    /// The name of the model. Default: the only one.
    pub(crate) model: Option<String>,
    /// The code of the source language, for a multilingual model.
    pub(crate) source_language: Option<String>,
    /// The code of the target language, for a multilingual model.
    pub(crate) target_language: Option<String>,
}

/// The query of `POST /v1/attention`.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AttentionQuery {
    /// `json`, the default, or `html`: a page that shows the weights.
    #[serde(default)]
    pub(crate) format: AttentionFormat,
}

/// The format of the reply.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AttentionFormat {
    /// The data.
    #[default]
    Json,
    /// A page that shows the weights.
    Html,
}

/// Returns the attention weights of all layers and heads for a sentence and its translation.
#[utoipa::path(
    post,
    path = "/v1/attention",
    params(AttentionQuery),
    request_body = AttentionRequest,
    responses(
        (status = 200, description = "The weights in ten-thousandths, or a page that shows them", body = Object),
        (status = 400, description = "The request is not valid", body = ErrorBody),
        (status = 413, description = "The sentence is too long", body = ErrorBody),
        (status = 429, description = "Too many requests; `Retry-After` gives the seconds to wait", body = ErrorBody),
    )
)]
pub(super) async fn attention(
    State(shared): State<Arc<Shared>>,
    query: Result<Query<AttentionQuery>, QueryRejection>,
    client: Client,
    JsonBody(request): JsonBody<AttentionRequest>,
) -> Result<Response, ApiError> {
    let caller = shared.admit(&client, client.key.as_deref())?;
    let Query(query) = query.map_err(|error| ApiError::request(error.body_text()))?;
    let texts = [Some(&request.source), request.target.as_ref()];
    let texts: Vec<&String> = texts.into_iter().flatten().collect();
    check_texts(&shared, &texts, 1, &caller)?;
    let selection = models::Selection {
        model: request.model.as_deref(),
        source: request.source_language.as_deref(),
        target: request.target_language.as_deref(),
    };
    let models = shared.models()?;
    let choices = models.choose(selection)?;
    if choices.len() > 1 {
        return Err(ApiError::request(
            "attention needs a single model; name it in `model`",
        ));
    }
    let route = models.pool.route(choices, false).await?;
    let served = route.first;
    check_length(&served, &request)?;
    // Held until the reply, which is large, has been sent.
    let share = shared.attention.take(caller.claimant(), 1);
    let share = share.ok_or_else(|| shared.busy(caller.id))?;
    let AttentionRequest { source, target, .. } = request;
    let translation = match &target {
        Some(_) => None,
        None => Some(translate_line(&served, source.clone(), &caller).await?),
    };
    let work = move || {
        let translator = served.translator();
        let best = translation.as_ref();
        let best = best.and_then(|it| Some((it.direction, it.candidates.first()?)));
        let attention = match (&target, best) {
            (Some(target), _) => translator.forced_attention_in(served.direction, &source, target),
            (None, Some((direction, best))) => {
                translator.attention_in(direction, &source, &best.hypothesis)
            }
            (None, None) => Err(TranslatorError::BlankSource),
        };
        attention.and_then(|attention| written(&attention, query.format))
    };
    let written = spawn_blocking(work).await.map_err(|_| ApiError::Internal)?;
    Ok(guarded_body(
        written.map_err(|error| refusal(&error))?,
        share,
    ))
}

fn check_length(served: &Served, request: &AttentionRequest) -> Result<(), ApiError> {
    let tokenizers = served.translator().tokenizers();
    let sides = [
        (tokenizers.src(), Some(&request.source)),
        (tokenizers.tgt(), request.target.as_ref()),
    ];
    for (tokenizer, text) in sides {
        let text = text.map_or("", String::as_str);
        // The start of a long text is enough to see that it is too long.
        let start = tokenizer.start_of_line(text, MAX_ATTENTION_TOKENS);
        let n_tokens = tokenizer.encode(start).len();
        if n_tokens > MAX_ATTENTION_TOKENS {
            let limit = MAX_ATTENTION_TOKENS;
            return Err(ApiError::TooManyTokens { n_tokens, limit });
        }
    }
    Ok(())
}

fn written(attention: &Attention, format: AttentionFormat) -> Result<Response, TranslatorError> {
    let selection = Selection::default();
    Ok(match format {
        AttentionFormat::Json => {
            let json = page_data(attention, selection)?;
            ([(CONTENT_TYPE, "application/json")], Body::from(json)).into_response()
        }
        AttentionFormat::Html => {
            let headers = [
                (CONTENT_TYPE, "text/html; charset=utf-8"),
                (CONTENT_SECURITY_POLICY, POLICY),
            ];
            (headers, Body::from(page(attention, selection)?)).into_response()
        }
    })
}

fn refusal(error: &TranslatorError) -> ApiError {
    match error {
        TranslatorError::BlankSource
        | TranslatorError::Direction(_)
        | TranslatorError::LongSource { .. }
        | TranslatorError::LongTarget { .. } => ApiError::request(error.to_string()),
        error => ApiError::internal(error, "attention failed"),
    }
}
