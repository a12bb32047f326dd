//! `POST /v1/translate`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::{IntoResponse, Response};

use super::json_body::JsonBody;
use super::reply::{Fields, TranslateReply};
use super::request::TranslateRequest;
use super::stream::{Work, stream};
use crate::http::{ApiError, Client, ErrorBody, guarded_body};
use crate::state::Shared;
use crate::translate::{check_texts, translate_texts};

/// Translates texts.
#[utoipa::path(
    post,
    path = "/v1/translate",
    request_body = TranslateRequest,
    responses(
        (status = 200, description = "The translations, or a stream of events if requested", body = TranslateReply),
        (status = 400, description = "The request is not valid", body = ErrorBody),
        (status = 401, description = "A key is missing", body = ErrorBody),
        (status = 403, description = "The key, or the origin of the page, is not accepted", body = ErrorBody),
        (status = 413, description = "The texts are too long", body = ErrorBody),
        (status = 429, description = "Too many requests, or too many tokens waiting; `Retry-After` gives the seconds to wait", body = ErrorBody),
        (status = 503, description = "The models are not loaded, or the translation takes too long", body = ErrorBody),
    )
)]
pub(super) async fn translate(
    State(shared): State<Arc<Shared>>,
    client: Client,
    headers: HeaderMap,
    body: JsonBody<TranslateRequest>,
) -> Result<Response, ApiError> {
    let caller = shared.admit(&client, client.key.as_deref())?;
    let JsonBody(request) = body;
    let models = shared.models()?;
    let route = models.route(request.selection())?;
    // Held until the work has ended and the reply, which is large, has been sent.
    let share = match request.attention {
        true => {
            let share = shared.attention.take(caller.claimant(), 1);
            Some(share.ok_or_else(|| shared.busy(caller.id))?)
        }
        false => None,
    };
    let share = share.map(Arc::new);
    let (format, options) = (request.format(), request.options(share.clone())?);
    let fields = Fields {
        alternatives: request.n_best > 1,
        scores: request.scores,
        alignments: request.alignments,
        attention: request.attention,
    };
    let texts = request.text.0;
    if request.stream || accepts_events(&headers) {
        check_texts(&shared, &texts, &caller)?;
        let work = Work {
            time: shared.options.limits.request_time,
            route,
            texts,
            format,
            options,
            caller,
            fields,
        };
        return Ok(guarded_body(stream(work).into_response(), share));
    }
    let translations =
        translate_texts(&shared, &route, texts.clone(), format, &options, &caller).await?;
    let reply = Json(fields.reply(&route, &texts, translations));
    Ok(guarded_body(reply.into_response(), share))
}

fn accepts_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|it| it.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/event-stream"))
}
