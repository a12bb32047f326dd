//! [`guarded_body`] and [`guard_body`]: hold a value as long as a body.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

/// A body that drops its guard when it is dropped.
struct GuardedBody<G> {
    body: Body,
    _guard: G,
}

/// Holds `guard` until the body of a reply has been sent, or the client is gone.
pub(crate) fn guarded_body<G: Send + Unpin + 'static>(response: Response, guard: G) -> Response {
    response.map(|body| guard_body(body, guard))
}

/// Holds `guard` until a body is dropped.
pub(crate) fn guard_body<G: Send + Unpin + 'static>(body: Body, guard: G) -> Body {
    Body::new(GuardedBody {
        body,
        _guard: guard,
    })
}

impl<G: Unpin> HttpBody for GuardedBody<G> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
