//! `POST /v1/translate`: its body, its reply, and [`stream`]: a translation as server-sent events, sentence by sentence;
//! [`JsonBody`]: a JSON body with errors that name the fault.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequest, Request, State};
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::response::sse::{Event, KeepAlive};
use axum::response::{IntoResponse, Response, Sse};
use futures_util::future::ready;
use futures_util::{FutureExt, Stream, StreamExt, stream};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{DeserializeOwned, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::timeout;
use transformer_documents::Split;
use utoipa::ToSchema;

use super::reply::{CodePoints, Fields, SentenceReply, TranslateReply};
use crate::http::{ApiError, Client, ErrorBody, guarded_body};
use crate::models::{Route, Selection};
use crate::state::{Caller, Shared};
use crate::translate::{
    SentenceEvent, TextFormat, TranslateOptions, check_options, check_texts, glossary,
    translate_texts,
};

/// The body of `POST /v1/translate`. All fields except `text` are optional.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "these are the fields of the interface"
)]
pub(crate) struct TranslateRequest {
    /// A text, or a list of texts.
    #[schema(value_type = Object)]
    pub(crate) text: Texts,
    /// Code of the source language, such as `en`.
    pub(crate) source: Option<String>,
    /// Code of the target language, such as `pt-BR`.
    pub(crate) target: Option<String>,
    /// Name of a model, instead of languages.
    pub(crate) model: Option<String>,
    /// Format of the text. Default: `text`.
    #[serde(default)]
    pub(crate) format: TextFormat,
    /// If true, texts are split into sentences. Default: true.
    #[serde(default = "default_split")]
    pub(crate) split: bool,
    /// Number of translations of each sentence, 1 to 32. Default: 1.
    #[serde(default = "default_n_best")]
    pub(crate) n_best: usize,
    /// Number of hypotheses of beam search, 1 to 32; 1 is greedy search. Default: the model's.
    pub(crate) beam_size: Option<usize>,
    /// If true, the reply contains the aligned words.
    #[serde(default)]
    pub(crate) alignments: bool,
    /// If true, the reply contains the attention weights of all layers and heads for each sentence.
    #[serde(default)]
    pub(crate) attention: bool,
    /// If true, the reply contains scores.
    #[serde(default)]
    pub(crate) scores: bool,
    /// Source terms, each with the term that the translation must contain.
    #[serde(default)]
    pub(crate) terms: BTreeMap<String, String>,
    /// If true, the reply is a stream of events.
    #[serde(default)]
    pub(crate) stream: bool,
}

#[derive(Debug)]
pub(crate) struct Texts(pub(crate) Vec<String>);

fn default_split() -> bool {
    true
}

fn default_n_best() -> usize {
    1
}

impl TranslateRequest {
    pub(super) fn selection(&self) -> Selection<'_> {
        Selection {
            model: self.model.as_deref(),
            source: self.source.as_deref(),
            target: self.target.as_deref(),
        }
    }

    pub(super) fn options(&self) -> Result<TranslateOptions, ApiError> {
        Ok(TranslateOptions {
            split: match self.split {
                true => Split::Sentences,
                false => Split::None,
            },
            n_best: self.n_best,
            beam_size: self.beam_size,
            alignments: self.alignments,
            attention: None,
            glossary: glossary(&self.terms)?,
            has_terms_alone: false,
        })
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextsVisitor)
    }
}

struct TextsVisitor;

impl<'de> Visitor<'de> for TextsVisitor {
    type Value = Texts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of texts")
    }

    fn visit_str<E>(self, text: &str) -> Result<Texts, E> {
        Ok(Texts(vec![text.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Texts, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Texts)
    }
}

/// A body of JSON. Other types of bodies are refused: browsers let every page send those.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let media_type = request.headers().get(CONTENT_TYPE);
        let media_type = media_type
            .and_then(|it| it.to_str().ok())
            .unwrap_or_default();
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        if !media_type.eq_ignore_ascii_case("application/json") {
            return Err(ApiError::MediaType);
        }
        let body = Bytes::from_request(request, state).await;
        let body = body.map_err(|_| ApiError::BrokenBody)?;
        let parsed = serde_json::from_slice(&body);
        let parsed = parsed.map_err(|error| ApiError::request(format!("invalid body: {error}")))?;
        Ok(Self(parsed))
    }
}

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
    check_texts(&shared, &request.text.0, 1, &caller)?;
    let models = shared.models()?;
    let choices = models.choose(request.selection())?;
    let (format, mut options) = (request.format, request.options()?);
    check_options(format, &options, request.attention, &choices)?;
    let route = models.pool.route(choices, false).await?;
    // Held until the work has ended and the reply, which is large, has been sent.
    let share = match request.attention {
        true => {
            let share = shared.attention.take(caller.claimant(), 1);
            Some(share.ok_or_else(|| shared.busy(caller.id))?)
        }
        false => None,
    };
    let share = share.map(Arc::new);
    options.attention.clone_from(&share);
    let fields = Fields {
        sentences: format == TextFormat::Text,
        alternatives: request.n_best > 1,
        scores: request.scores,
        alignments: request.alignments,
        attention: request.attention,
    };
    let texts = request.text.0;
    if request.stream || accepts_events(&headers) {
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
        translate_texts(&route, texts.clone(), format, &options, &caller, None).await?;
    let reply = Json(fields.reply(&route, &texts, translations));
    Ok(guarded_body(reply.into_response(), share))
}

fn accepts_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|it| it.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/event-stream"))
}

pub(super) struct Work {
    pub(super) time: Duration,
    pub(super) route: Route,
    pub(super) texts: Vec<String>,
    pub(super) format: TextFormat,
    pub(super) options: TranslateOptions,
    pub(super) caller: Caller,
    pub(super) fields: Fields,
}

#[derive(Debug, Serialize)]
struct SentenceData {
    text_index: usize,
    sentence_index: usize,
    #[serde(flatten)]
    sentence: SentenceReply,
}

/// Translates, and sends an event for each sentence and one at the end. Dropping the stream ends the translation, because
/// the client hung up.
pub(super) fn stream(
    work: Work,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + Send + 'static> {
    let sources: Vec<CodePoints> = work.texts.iter().map(|text| CodePoints::of(text)).collect();
    let fields = work.fields;
    let (sender, mut sentences) = unbounded_channel();
    let sentences = stream::poll_fn(move |context| sentences.poll_recv(context));
    let sentences = sentences.map(move |it: SentenceEvent| {
        let data = SentenceData {
            text_index: it.text,
            sentence_index: it.sentence,
            sentence: fields.event(&sources[it.text], it.translation),
        };
        event("sentence", &data)
    });
    let (end, ended) = oneshot::channel();
    let translation = async move {
        let last = match work.reply(sender).await {
            Ok(reply) => event("done", &reply),
            Err(error) => {
                let error = error.to_string();
                event("error", &ErrorBody { error })
            }
        };
        let _ = end.send(last);
    };
    let translation = stream::once(translation).filter_map(|()| ready(None));
    let last = stream::once(ended).filter_map(|last| ready(last.ok()));
    // The sentences end when the translation, which owns their sender, has ended.
    let events = stream::select(sentences, translation).chain(last).map(Ok);
    Sse::new(events).keep_alive(KeepAlive::default())
}

impl Work {
    async fn reply(
        self,
        sender: UnboundedSender<SentenceEvent>,
    ) -> Result<TranslateReply, ApiError> {
        let (texts, options) = (self.texts.clone(), &self.options);
        let events = Some(&sender);
        let translate = translate_texts(
            &self.route,
            texts,
            self.format,
            options,
            &self.caller,
            events,
        );
        let translations =
            match timeout(self.time, AssertUnwindSafe(translate).catch_unwind()).await {
                Ok(Ok(translations)) => translations?,
                Ok(Err(_)) => return Err(ApiError::Internal),
                Err(_) => {
                    let seconds = self.time.as_secs();
                    return Err(ApiError::Timeout { seconds });
                }
            };
        // The weights, which are large, were in the events.
        let fields = Fields {
            attention: false,
            ..self.fields
        };
        Ok(fields.reply(&self.route, &self.texts, translations))
    }
}

fn event(name: &str, data: &impl Serialize) -> Event {
    let event = Event::default().event(name);
    let json = event.json_data(data);
    json.unwrap_or_else(|_| Event::default().event("error"))
}
