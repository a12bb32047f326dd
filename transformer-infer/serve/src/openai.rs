//! OpenAI's interface, for programs that know no other: the last message of the user is translated.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response, Sse};
use axum::routing::post;
use axum::{Json, Router};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{OpenApi, ToSchema};

use crate::config::Limits;
use crate::http::{ApiError, Client, KeyPlace, interface};
use crate::languages::{Asked, answer};
use crate::models::{Models, Selection, is_auto};
use crate::state::{Caller, Shared};
use crate::translate::{TextFormat, TranslateOptions, check_texts, translate_texts};
use crate::v1::JsonBody;

#[derive(OpenApi)]
#[openapi(paths(complete))]
pub(crate) struct Paths;

pub(crate) fn router(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    let router = Router::new().route("/v1/chat/completions", post(complete));
    interface(router, shared, KeyPlace::Head, refusal)
}

/// A request for a translation. Other fields, such as `temperature`, are accepted and have no effect.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = openai::ChatRequest)]
struct ChatRequest {
    /// The name of a model, or the codes of two languages, such as `en-de` or `auto-de`, or that of the target alone.
    model: String,
    /// The conversation. The last message of the role `user` is translated, whatever the others say.
    messages: Vec<Message>,
    /// Number of translations, 1 to 32. Default: 1.
    n: Option<usize>,
    /// If true, the reply is a stream of events.
    stream: Option<bool>,
}

/// A message.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = openai::Message)]
struct Message {
    /// `user`, `system`, `assistant` or another role.
    role: String,
    /// The text.
    content: Option<Content>,
}

/// The text of a message, or its parts.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = openai::Content)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

/// A part of a message.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = openai::Part)]
struct Part {
    /// The text, if it has one.
    text: Option<String>,
}

/// A reply, with a choice for each translation, best first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = openai::ChatReply)]
struct ChatReply {
    id: String,
    object: &'static str,
    /// Seconds since 1970.
    created: u64,
    model: String,
    choices: Vec<Value>,
}

/// Translates the last message of the user.
#[utoipa::path(
    post,
    path = "/v1/chat/completions",
    request_body = ChatRequest,
    responses(
        (status = 200, description = "The translations, or a stream of events if requested", body = ChatReply),
        (status = 400, description = "The request is not valid"),
        (status = 401, description = "The API key is not valid"),
        (status = 404, description = "The model is not known"),
        (status = 429, description = "Too many requests; see Retry-After"),
    )
)]
async fn complete(
    State(shared): State<Arc<Shared>>,
    client: Client,
    body: JsonBody<ChatRequest>,
) -> Result<Response, ApiError> {
    let caller = shared.admit(&client, client.key.as_deref())?;
    let JsonBody(request) = body;
    let n_best = request.n.unwrap_or(1);
    let most = Limits::MOST_HYPOTHESES;
    if !(1..=most).contains(&n_best) {
        return Err(ApiError::request(format!(
            "`n` is {n_best}; choose 1 to {most}"
        )));
    }
    let mut users = request.messages.iter().filter(|it| it.role == "user");
    let message = users.next_back().ok_or_else(|| {
        ApiError::request(
            "`messages` has no message of the role `user`, which is what is translated; add one",
        )
    })?;
    let text = match &message.content {
        None => String::new(),
        Some(Content::Text(text)) => text.clone(),
        Some(Content::Parts(parts)) => {
            let texts = parts.iter().map(|part| part.text.as_deref());
            texts.collect::<Option<String>>().ok_or_else(|| {
                ApiError::request("a part of the last message has no `text`; send text alone")
            })?
        }
    };
    let mut translations = translations(&shared, &caller, &request.model, text, n_best).await?;
    // OpenAI's clients read `n` choices, also of a text with fewer translations.
    let best = translations.first().cloned().unwrap_or_default();
    translations.resize(n_best, best);
    let is_stream = request.stream == Some(true);
    let reply = |choices| ChatReply {
        id: format!("chatcmpl-{}", client.id),
        object: match is_stream {
            true => "chat.completion.chunk",
            false => "chat.completion",
        },
        created: UNIX_EPOCH.elapsed().map_or(0, |it| it.as_secs()),
        model: request.model.clone(),
        choices,
    };
    let choices = |name: &str, finish: Option<&str>| {
        let choice = |(index, text): (usize, &String)| {
            let message = json!({ "role": "assistant", "content": text, "refusal": null });
            json!({ "index": index, name: message, "logprobs": null, "finish_reason": finish })
        };
        translations.iter().enumerate().map(choice).collect()
    };
    if !is_stream {
        return Ok(Json(reply(choices("message", Some("stop")))).into_response());
    }
    let ends = (0..translations.len())
        .map(|index| json!({ "index": index, "delta": {}, "finish_reason": "stop" }));
    let chunks = [reply(choices("delta", None)), reply(ends.collect())];
    let chunks = chunks.map(|chunk| json!(chunk).to_string());
    let events = chunks.into_iter().chain(["[DONE]".to_owned()]);
    let events = events.map(|data| Ok::<_, Infallible>(Event::default().data(data)));
    Ok(Sse::new(stream::iter(events)).into_response())
}

async fn translations(
    shared: &Shared,
    caller: &Caller,
    model: &str,
    text: String,
    n_best: usize,
) -> Result<Vec<String>, ApiError> {
    let models = shared.models()?;
    let is_name = models.all.iter().any(|served| served.name == model);
    if !is_name && let Some((source, target)) = languages(&models, model) {
        let asked = Asked {
            texts: &[text],
            source,
            target,
            n_alternatives: n_best - 1,
            ..Asked::default()
        };
        let answers = answer(shared, caller, &asked).await?.into_iter();
        return Ok(answers
            .flat_map(|it| [it.text].into_iter().chain(it.alternatives))
            .collect());
    }
    let selection = Selection {
        model: Some(model),
        ..Selection::default()
    };
    let text = [text];
    check_texts(shared, &text, 1, caller)?;
    let route = models.route(selection).await?;
    let options = TranslateOptions {
        n_best,
        ..TranslateOptions::default()
    };
    let translated = translate_texts(
        &route,
        text.into(),
        TextFormat::Text,
        &options,
        caller,
        None,
    )
    .await?;
    let translations = translated.into_iter().flat_map(|it| {
        let alternatives = it.alternatives(n_best - 1);
        [it.text].into_iter().chain(alternatives)
    });
    Ok(translations.collect())
}

/// Returns the source language, unless it is to be detected, and the target language that a name of a model stands for:
/// both codes with a `-` between them, such as `en-pt-BR` or `auto-de`, or that of the target alone.
fn languages<'a>(models: &Models, name: &'a str) -> Option<(Option<&'a str>, &'a str)> {
    let is_known = |code: &str| models.language(code).is_ok();
    // `de-AT` is the German of Austria, not German into another language.
    let is_region = |code: &str| match code.len() {
        2 => code.bytes().all(|it| it.is_ascii_uppercase()),
        3 => code.bytes().all(|it| it.is_ascii_digit()),
        _ => false,
    };
    let is_target = |code: &str| !is_region(code) && is_known(code);
    let hyphens = name.match_indices('-');
    let mut pairs = hyphens.map(|(at, _)| (&name[..at], &name[at + 1..]));
    let pair =
        pairs.find(|(source, target)| (is_auto(source) || is_known(source)) && is_target(target));
    match pair {
        Some((source, target)) if is_auto(source) => Some((None, target)),
        Some((source, target)) => Some((Some(source), target)),
        None => is_known(name).then_some((None, name)),
    }
}

fn refusal(error: &ApiError) -> (StatusCode, Json<Value>) {
    let (status, code) = match error {
        ApiError::MissingKey | ApiError::WrongKey => {
            (StatusCode::UNAUTHORIZED, Some("invalid_api_key"))
        }
        ApiError::Model { .. } => (StatusCode::NOT_FOUND, Some("model_not_found")),
        error => (error.status(), None),
    };
    let kind = match status {
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        status if status.is_server_error() => "server_error",
        _ => "invalid_request_error",
    };
    let text = error.to_string();
    let error = json!({ "message": text, "type": kind, "param": null, "code": code });
    (status, Json(json!({ "error": error })))
}
