//! The page of the server: plain HTML, style and scripts, compiled into the program.
//!
//! - `static/`: the files for browsers.
//! - [`router`]: their addresses, with headers that forbid everything else.

mod asset;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use axum::Router;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use self::asset::{Asset, assets};

/// Isolates the page from pages that it opens or that open it.
const CROSS_ORIGIN_OPENER_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-opener-policy");

/// Keeps other origins from loading the files.
const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-resource-policy");

/// Returns the routes of the page: `/`, and its files below `/page/`.
pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    assets().into_iter().fold(Router::new(), |router, asset| {
        let path = asset.path;
        let page_file = Arc::new(PageFile::new(asset));
        let reply = move |headers: HeaderMap| async move { page_file.reply(&headers) };
        router.route(path, get(reply))
    })
}

#[derive(Debug)]
struct PageFile {
    asset: Asset,
    /// Identifies the content, so that browsers load it again only if it has changed.
    tag: String,
}

impl PageFile {
    fn new(asset: Asset) -> Self {
        let mut hasher = DefaultHasher::new();
        asset.text.hash(&mut hasher);
        asset.policy.hash(&mut hasher);
        let tag = format!("\"{:016x}\"", hasher.finish());
        Self { asset, tag }
    }

    fn reply(&self, request: &HeaderMap) -> Response {
        let known = request.get(IF_NONE_MATCH).and_then(|it| it.to_str().ok());
        // A proxy that compresses makes the tag weak.
        let is_known = known.is_some_and(|tags| {
            tags.split(',')
                .any(|tag| tag.trim().trim_start_matches("W/") == self.tag)
        });
        let headers = self.headers();
        if is_known {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        (headers, self.asset.text.clone()).into_response()
    }

    fn headers(&self) -> HeaderMap {
        let tag = HeaderValue::from_str(&self.tag).expect("hexadecimal digits are valid");
        let fixed = [
            (CONTENT_TYPE, self.asset.content_type),
            (CONTENT_SECURITY_POLICY, self.asset.policy),
            (CACHE_CONTROL, "no-cache"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (REFERRER_POLICY, "no-referrer"),
            (CROSS_ORIGIN_OPENER_POLICY, "same-origin"),
            (CROSS_ORIGIN_RESOURCE_POLICY, "same-origin"),
        ];
        let fixed = fixed.map(|(name, value)| (name, HeaderValue::from_static(value)));
        fixed.into_iter().chain([(ETAG, tag)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &'static str) -> PageFile {
        PageFile::new(Asset {
            path: "/",
            content_type: "text/plain; charset=utf-8",
            policy: "default-src 'none'",
            text: text.into(),
        })
    }

    fn asking_for(tag: &str) -> HeaderMap {
        let tag = HeaderValue::from_str(tag).expect("the tag is ASCII");
        HeaderMap::from_iter([(IF_NONE_MATCH, tag)])
    }

    #[test]
    fn a_known_file_is_not_sent_again() {
        let file = file("text");
        let weak = format!("\"other\", W/{}", file.tag);
        let reply = file.reply(&asking_for(&weak));
        assert_eq!(reply.status(), StatusCode::NOT_MODIFIED);
    }

    #[test]
    fn a_file_with_another_text_is_sent() {
        let reply = file("text").reply(&asking_for(&file("another text").tag));
        assert_eq!(reply.status(), StatusCode::OK);
    }
}
