//! [`check_origin`] and [`cors`]: the web pages that may call the server.
//!
//! A page from anywhere can send requests to a server on the reader's own machine. Browsers name the page in `Origin`.
//! A page can only lie about it with its own host name that resolves to 127.0.0.1 (DNS rebinding), and then this name
//! is in `Host`.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{HOST, ORIGIN, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, Version};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use super::error::DOUBTFUL;
use super::{ApiError, Peer};
use crate::config::{ServeError, ServeOptions};
use crate::state::Shared;

const MAX_SHOWN_CHARS: usize = 100;

/// The schemes of pages that may be allowed: of the web, of apps, and of browsers' extensions.
const SCHEMES: [&str; 7] = [
    "http",
    "https",
    "app",
    "chrome-extension",
    "moz-extension",
    "safari-web-extension",
    "ms-browser-extension",
];

/// Refuses requests of pages from origins other than the server's own and those in the options. On loopback addresses,
/// also refuses requests to names other than `localhost` and those in the options. Over a connection, a request in
/// HTTP/1.1 must name one server.
pub(crate) async fn check_origin(
    State(shared): State<Arc<Shared>>,
    request: Request,
    next: Next,
) -> Response {
    let n_hosts = request.headers().get_all(HOST).iter().count();
    let may_lack =
        request.version() < Version::HTTP_11 || request.extensions().get::<Peer>().is_none();
    if n_hosts > 1 || n_hosts == 0 && !may_lack {
        return ApiError::Hosts { n_hosts }.into_response();
    }
    let host = host(request.uri(), request.headers());
    match check(&shared.options, host.as_deref(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

/// Returns the layer that tells browsers which pages may read replies.
pub(crate) fn cors(options: &ServeOptions) -> Result<CorsLayer, ServeError> {
    let is_any = options.cors_origins.iter().any(|origin| origin == "*");
    let origins = match is_any {
        true => AllowOrigin::any(),
        false => {
            let origins = options.cors_origins.iter().map(|text| origin_header(text));
            AllowOrigin::list(origins.collect::<Result<Vec<_>, _>>()?)
        }
    };
    let id = HeaderName::from_static("x-request-id");
    Ok(CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([
            Method::GET,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
        ])
        // Clients send headers of their own; only its origin decides whether a page may call.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([RETRY_AFTER, id, HeaderName::from_static(DOUBTFUL)]))
}

/// Checks the form of an origin: a scheme and a host, without a path.
fn origin_header(text: &str) -> Result<HeaderValue, ServeError> {
    let wrong = || ServeError::Origin {
        origin: text.to_owned(),
    };
    let (scheme, host) = text.split_once("://").ok_or_else(wrong)?;
    if !SCHEMES.contains(&scheme) || host.is_empty() || host.contains(['/', '?', '#']) {
        return Err(wrong());
    }
    text.parse().map_err(|_| wrong())
}

fn check(options: &ServeOptions, host: Option<&str>, headers: &HeaderMap) -> Result<(), ApiError> {
    let shown = |text: &str| text.chars().take(MAX_SHOWN_CHARS).collect();
    if let Some(host) = host.filter(|_| options.host.is_loopback())
        && !is_own_name(name(host), options)
    {
        return Err(ApiError::Host { host: shown(host) });
    }
    let Some(origin) = headers.get(ORIGIN) else {
        return Ok(()); // not a browser, or a page of the server itself
    };
    let origin = origin.to_str().unwrap_or_default();
    let is_own = origin
        .split_once("://")
        .is_some_and(|(_, of_page)| host.is_some_and(|host| host.eq_ignore_ascii_case(of_page)));
    let is_allowed = |allowed: &String| allowed == "*" || allowed.eq_ignore_ascii_case(origin);
    if is_own || options.cors_origins.iter().any(is_allowed) {
        return Ok(());
    }
    Err(ApiError::Origin {
        origin: shown(origin),
    })
}

fn host(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let header = headers.get(HOST).map(|host| host.to_str().unwrap_or("?"));
    let authority = uri.authority().map(|it| it.as_str());
    header.or(authority).map(str::to_owned)
}

fn name(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    }
}

fn is_own_name(name: &str, options: &ServeOptions) -> bool {
    // A name that resolves to another address is not an address itself.
    name.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || options
            .allowed_hosts
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether a request with these headers is accepted by a server on a loopback address.
    fn accepts(host: &str, origin: Option<&str>, cors_origins: &[&str]) -> bool {
        let options = ServeOptions {
            cors_origins: cors_origins.iter().map(|it| (*it).to_owned()).collect(),
            allowed_hosts: vec!["box".to_owned()],
            ..ServeOptions::default()
        };
        let mut headers = HeaderMap::new();
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().expect("it is a header"));
        }
        check(&options, Some(host), &headers).is_ok()
    }

    #[test]
    fn names_that_may_be_rebound_are_refused() {
        for host in [
            "localhost:5000",
            "LOCALHOST",
            "127.0.0.1:5000",
            "[::1]:5000",
            "box:5000",
        ] {
            assert!(accepts(host, None, &[]), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:5000",
            "",
            "localhost.evil.example",
            "[x",
        ] {
            assert!(!accepts(host, None, &[]), "{host}");
        }
    }

    #[test]
    fn pages_of_the_server_may_call_and_others_not() {
        assert!(accepts(
            "localhost:5000",
            Some("http://localhost:5000"),
            &[]
        ));
        for origin in [
            "http://localhost:5001",
            "https://evil.example",
            "null",
            "",
            "file://",
        ] {
            assert!(!accepts("localhost:5000", Some(origin), &[]), "{origin}");
        }
    }

    #[test]
    fn origins_of_the_options_may_call() {
        let page = Some("https://a.example");
        assert!(accepts(
            "localhost",
            page,
            &["https://b.example", "https://a.example"]
        ));
        assert!(accepts("localhost", page, &["*"]));
        assert!(!accepts("localhost", page, &["https://b.example"]));
    }

    #[test]
    fn what_is_no_origin_is_refused() {
        for origin in [
            "a.example",
            "https://",
            "https://a.example/",
            "ftp://a.example",
            "evil-extension://a",
            "ä://b",
        ] {
            assert!(origin_header(origin).is_err(), "{origin}");
        }
        for origin in [
            "https://a.example:8080",
            "chrome-extension://abcdefghijklmnop",
            "moz-extension://6f1c-4b",
            "app://obsidian.md",
        ] {
            assert!(origin_header(origin).is_ok(), "{origin}");
        }
    }
}
