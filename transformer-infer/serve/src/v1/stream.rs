//! [`stream`]: a translation as server-sent events, sentence by sentence.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::time::Duration;

use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::{FutureExt, Stream, stream};
use serde::Serialize;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use super::code_points::CodePoints;
use super::reply::{Fields, SentenceReply, TranslateReply};
use crate::http::{ApiError, ErrorBody};
use crate::models::Route;
use crate::state::Caller;
use crate::translate::{SentenceEvent, TextFormat, TranslateOptions, translate_texts_with};

/// A request with a stream as its reply.
pub(super) struct Work {
    pub(super) time: Duration,
    pub(super) route: Route,
    pub(super) texts: Vec<String>,
    pub(super) format: TextFormat,
    pub(super) options: TranslateOptions,
    pub(super) caller: Caller,
    pub(super) fields: Fields,
}

/// The work on a reply.
type Replying = Pin<Box<dyn Future<Output = Result<TranslateReply, ApiError>> + Send>>;

/// The data of an event `sentence`.
#[derive(Debug, Serialize)]
struct SentenceData {
    text_index: usize,
    sentence_index: usize,
    #[serde(flatten)]
    sentence: SentenceReply,
}

/// A translation that is being streamed. Dropping it ends the translation, because the client hung up.
struct Streaming {
    sources: Vec<CodePoints>,
    fields: Fields,
    events: UnboundedReceiver<SentenceEvent>,
    /// The translation; `None` once its result has been sent.
    reply: Option<Replying>,
    /// The final event, with all translations.
    last: Option<Event>,
}

/// Translates, and sends an event for each sentence and one at the end.
pub(super) fn stream(
    work: Work,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + Send + 'static> {
    let (sender, events) = unbounded_channel();
    let streaming = Streaming {
        sources: work.texts.iter().map(|text| CodePoints::of(text)).collect(),
        fields: work.fields,
        events,
        reply: Some(Box::pin(work.reply(sender))),
        last: None,
    };
    let stream = stream::unfold(streaming, |mut streaming| async move {
        let event = streaming.next().await?;
        Some((Ok(event), streaming))
    });
    Sse::new(stream).keep_alive(KeepAlive::default())
}

impl Work {
    async fn reply(
        self,
        sender: UnboundedSender<SentenceEvent>,
    ) -> Result<TranslateReply, ApiError> {
        let (texts, options) = (self.texts.clone(), &self.options);
        let events = Some(&sender);
        let translate = translate_texts_with(
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

impl Streaming {
    /// Returns the next event; `None` after the last one.
    async fn next(&mut self) -> Option<Event> {
        if let Some(reply) = &mut self.reply {
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => return Some(self.sentence(event)),
                result = reply => {
                    self.reply = None;
                    self.last = Some(match result {
                        Ok(reply) => event("done", &reply),
                        Err(error) => event("error", &ErrorBody { error: error.to_string() }),
                    });
                }
            }
        }
        if let Ok(event) = self.events.try_recv() {
            return Some(self.sentence(event));
        }
        self.last.take()
    }

    fn sentence(&self, sentence: SentenceEvent) -> Event {
        let SentenceEvent {
            text,
            sentence: sentence_index,
            translation,
        } = sentence;
        let data = SentenceData {
            text_index: text,
            sentence_index,
            sentence: self.fields.event(&self.sources[text], translation),
        };
        event("sentence", &data)
    }
}

/// Makes an event with JSON as its data.
fn event(name: &str, data: &impl Serialize) -> Event {
    let event = Event::default().event(name);
    let json = event.json_data(data);
    json.unwrap_or_else(|_| Event::default().event("error"))
}
