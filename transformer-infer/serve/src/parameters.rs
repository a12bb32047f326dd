//! [`Parameters`]: the parameters of a request in any of its forms; [`PathPart`]: a part of its path.

use std::borrow::Cow;
use std::mem;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::multipart::Field;
use axum::extract::{FromRequest, FromRequestParts, Multipart, Path, Request};
use axum::http::Uri;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::request::Parts;
use percent_encoding::percent_decode;
use serde::de::{DeserializeOwned, Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::http::{ApiError, Client, KeyPlace};
use crate::state::{Caller, Shared};

pub(crate) fn key_in_query(uri: &Uri, name: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(uri.query()?.as_bytes());
    let key = pairs.find(|(given, value)| given == name && !value.is_empty());
    key.map(|(_, value)| value.into_owned())
}

/// The parameters of an operation: a JSON object, a form, or the query.
///
/// Other servers accept all these forms, and clients use all of them. The body takes precedence over the query, but for
/// forms where [`Repeated::First`] counts. The functions [`text`], [`list`], [`number`] and [`flag`] read a field in the
/// notation of JSON and of forms. [`Fields::key`] reads the key of the caller: requests have a field for it only because
/// their types describe them.
pub(crate) trait Parameters: DeserializeOwned {
    /// The values of a name that a form or the query repeats.
    const REPEATED: Repeated = Repeated::List;

    fn set_file(&mut self, _: UploadedFile) {}
}

/// The values of a name that a form or the query repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Repeated {
    /// All of them, as a list, and so for a name such as `text[]`. Those of the body go before those of the query.
    #[default]
    List,
    /// The first one, as in LibreTranslate: the query goes before a form. Line ends become `\n`, as there.
    First,
}

/// A request of another server's interface, with its caller and its parameters.
///
/// The caller is checked and counted by the key among the parameters or in the head, before anything else is checked. The
/// body is limited.
pub(crate) struct Admitted<P>(pub(crate) Arc<Shared>, pub(crate) Caller, pub(crate) P);

impl<P: Parameters> FromRequest<Arc<Shared>> for Admitted<P> {
    type Rejection = ApiError;

    async fn from_request(request: Request, shared: &Arc<Shared>) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let Ok(client) = Client::from_request_parts(&mut parts, &()).await;
        let fields = Fields::of(Request::from_parts(parts, body), P::REPEATED).await?;
        let in_head = client.key.clone();
        let key = match client.keys {
            KeyPlace::Head => in_head,
            KeyPlace::HeadElseParameters(name) => in_head.or_else(|| fields.key(name)),
            KeyPlace::HeadOrParameters(name) => fields.key(name).or(in_head),
        };
        let caller = shared.admit(&client, key.as_deref())?;
        Ok(Self(shared.clone(), caller, fields.parse()?))
    }
}

/// A part of the path, such as an id. Nothing has a name that is not UTF-8.
pub(crate) struct PathPart(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathPart {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let part = Path::from_request_parts(parts, state).await;
        part.map(|Path(part)| Self(part))
            .map_err(|_| ApiError::NotFound)
    }
}

#[derive(Clone, Debug, Default)]
struct Fields {
    repeated: Repeated,
    values: Map<String, Value>,
    file: Option<UploadedFile>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct UploadedFile {
    /// The name given by the client; may be empty.
    pub(crate) name: String,
    pub(crate) bytes: Bytes,
}

/// A value, or an array of values.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(untagged, expecting = "must be a string or an array of strings")]
pub(crate) enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// Takes the only value for a single text, otherwise all values.
    pub(crate) fn of(values: Vec<T>, is_one: bool) -> Self {
        let mut values = values;
        match values.pop() {
            Some(value) if is_one => Self::One(value),
            last => {
                values.extend(last);
                Self::Many(values)
            }
        }
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyKind {
    Json,
    Form,
    Multipart,
    Other,
}

impl BodyKind {
    fn of(content_type: &str) -> Self {
        let kind = content_type.split(';').next().unwrap_or_default();
        let kind = kind.trim().to_ascii_lowercase();
        match kind.as_str() {
            "application/json" => Self::Json,
            "application/x-www-form-urlencoded" => Self::Form,
            "multipart/form-data" => Self::Multipart,
            _ if kind.ends_with("+json") => Self::Json,
            _ => Self::Other,
        }
    }
}

impl Fields {
    async fn of(request: Request, repeated: Repeated) -> Result<Self, ApiError> {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let content_type = request.headers().get(CONTENT_TYPE);
        let content_type = content_type.and_then(|it| it.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        let kind = BodyKind::of(&content_type);
        let mut fields = Self {
            repeated,
            ..Self::default()
        };
        let mut of_query = fields.clone();
        match kind {
            BodyKind::Multipart => fields.add_multipart(request).await?,
            kind => {
                let body = Bytes::from_request(request, &()).await;
                let body = body.map_err(|_| ApiError::BrokenBody)?;
                fields.add_body(kind, charset(&content_type), &body)?;
            }
        }
        for (name, value) in pairs(query.as_bytes(), None)? {
            of_query.push(&name, &value);
        }
        if repeated == Repeated::First && kind != BodyKind::Json {
            mem::swap(&mut fields.values, &mut of_query.values);
        }
        for (name, value) in of_query.values {
            fields.values.entry(name).or_insert(value);
        }
        Ok(fields)
    }

    fn add_body(
        &mut self,
        kind: BodyKind,
        charset: Option<&str>,
        body: &[u8],
    ) -> Result<(), ApiError> {
        match kind {
            // Some clients say so with `GET`, too.
            BodyKind::Json if body.is_empty() => {}
            BodyKind::Json => {
                let found = serde_json::from_slice(body);
                let found = found
                    .map_err(|error| ApiError::request(format!("Invalid JSON format: {error}")))?;
                let Value::Object(values) = found else {
                    return Err(ApiError::request("Invalid JSON format: expected an object"));
                };
                self.values = values;
            }
            BodyKind::Form => {
                for (name, value) in pairs(body, charset)? {
                    self.push(&name, &value);
                }
            }
            BodyKind::Multipart | BodyKind::Other => {}
        }
        Ok(())
    }

    async fn add_multipart(&mut self, request: Request) -> Result<(), ApiError> {
        let broken = |text| ApiError::request(format!("the multipart form is malformed: {text}"));
        let form = Multipart::from_request(request, &()).await;
        let mut form = form.map_err(|error| broken(error.body_text()))?;
        loop {
            let field = form.next_field().await;
            let Some(field) = field.map_err(|error| broken(error.body_text()))? else {
                return Ok(());
            };
            let name = field.name().unwrap_or_default().to_owned();
            let file_name = file_name(&field);
            let content_type = field.content_type().unwrap_or_default().to_owned();
            let charset = charset(&content_type);
            let bytes = field.bytes().await;
            let bytes = bytes.map_err(|error| broken(error.body_text()))?;
            match file_name {
                None if name != "file" => {
                    let text = utf8(&bytes, charset)?;
                    self.push(&name, text.strip_prefix('\u{feff}').unwrap_or(text));
                }
                name => {
                    if charset.is_some() {
                        utf8(&bytes, charset)?;
                    }
                    let name = name.unwrap_or_default();
                    self.file.get_or_insert(UploadedFile { name, bytes });
                }
            }
        }
    }

    fn push(&mut self, name: &str, value: &str) {
        let (name, value) = match self.repeated {
            Repeated::List => (name.strip_suffix("[]").unwrap_or(name), value.to_owned()),
            Repeated::First => (name, value.replace("\r\n", "\n")),
        };
        let value = Value::String(value);
        match self.values.get_mut(name) {
            None => {
                self.values.insert(name.to_owned(), value);
            }
            Some(_) if self.repeated == Repeated::First => {}
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
        }
    }

    fn key(&self, name: &str) -> Option<String> {
        text(self.values.get(name)?).ok()?
    }

    fn parse<P: Parameters>(self) -> Result<P, ApiError> {
        let parsed = serde_path_to_error::deserialize(Value::Object(self.values));
        let mut parsed: P = parsed.map_err(|error| {
            let (name, error) = (error.path().to_string(), error.into_inner());
            ApiError::request(format!("Invalid request: {name} {error}"))
        })?;
        if let Some(file) = self.file {
            parsed.set_file(file);
        }
        Ok(parsed)
    }
}

/// Returns the name of a file: `filename*` (RFC 8187), which .NET sends beside an encoded `filename`, or else that.
fn file_name(field: &Field<'_>) -> Option<String> {
    let disposition = field.headers().get(CONTENT_DISPOSITION)?.as_bytes();
    let disposition = String::from_utf8_lossy(disposition);
    let mut parameters = disposition.split(';').filter_map(|it| it.split_once('='));
    let extended = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("filename*"));
    let extended = extended.and_then(|(_, value)| {
        let (charset, value) = value.trim().trim_matches('"').split_once('\'')?;
        let (_, name) = value.split_once('\'')?;
        let name = percent_decode(name.as_bytes()).decode_utf8().ok();
        name.filter(|_| charset.eq_ignore_ascii_case("utf-8"))
    });
    let name = extended.map(Cow::into_owned);
    name.or_else(|| field.file_name().map(str::to_owned))
}

/// Leaves out the field of a file: [`Parameters::set_file`] takes it from its part of the form.
pub(crate) fn no_file<'de, D: Deserializer<'de>>(
    value: D,
) -> Result<Option<UploadedFile>, D::Error> {
    IgnoredAny::deserialize(value).map(|_| None)
}

/// Reads a text, or a number as text; `None` if it is empty or another type.
pub(crate) fn text<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let value = match Value::deserialize(value)? {
        Value::Array(values) => values.into_iter().next().unwrap_or_default(),
        value => value,
    };
    Ok(match value {
        Value::String(text) if !text.is_empty() => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

/// Reads a list of texts, separated by commas in forms.
pub(crate) fn list<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<String>, D::Error> {
    let values = match Value::deserialize(value)? {
        Value::Array(values) => values,
        value => vec![value],
    };
    let texts = values.iter().filter_map(Value::as_str);
    let parts = texts.flat_map(|text| text.split(',')).map(str::trim);
    Ok(parts
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect())
}

/// Reads a number, which is text in forms. A negative one counts as 0.
pub(crate) fn number<'de, D: Deserializer<'de>>(value: D) -> Result<Option<usize>, D::Error> {
    let number = match Value::deserialize(value)? {
        Value::Null => return Ok(None),
        Value::Number(number) => number.as_i64(),
        Value::String(text) if text.is_empty() => return Ok(None),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let number = number.and_then(|number: i64| usize::try_from(number.max(0)).ok());
    let wrong = || D::Error::custom("must be a number");
    number.map(Some).ok_or_else(wrong)
}

/// Reads a flag, in the notation of JSON and of forms; `None` if it is neither true nor false.
pub(crate) fn flag<'de, D: Deserializer<'de>>(value: D) -> Result<Option<bool>, D::Error> {
    Ok(match Value::deserialize(value)? {
        Value::Bool(flag) => Some(flag),
        Value::String(text) => match text.as_str() {
            "1" | "true" => Some(true),
            "0" | "false" => Some(false),
            _ => None,
        },
        Value::Number(number) => number.as_u64().map(|number| number != 0),
        _ => None,
    })
}

/// Returns the character encoding that a media type names, if any.
fn charset(content_type: &str) -> Option<&str> {
    let parameters = content_type.split(';').skip(1);
    let mut parameters = parameters.filter_map(|it| it.split_once('='));
    let charset = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    let charset = charset.map(|(_, value)| value.trim().trim_matches('"'));
    charset.filter(|charset| !charset.is_empty())
}

fn pairs<'a>(
    form: &'a [u8],
    charset: Option<&str>,
) -> Result<form_urlencoded::Parse<'a>, ApiError> {
    let decoded: Vec<u8> = percent_decode(form).collect();
    utf8(&decoded, charset)?;
    Ok(form_urlencoded::parse(form))
}

/// Returns text in UTF-8, or in ASCII if another encoding is named, unless that writes other text in ASCII bytes.
fn utf8<'a>(bytes: &'a [u8], charset: Option<&str>) -> Result<&'a str, ApiError> {
    let charset = charset.unwrap_or("utf-8").to_ascii_lowercase();
    let is_utf8 = matches!(charset.as_str(), "utf-8" | "utf8");
    let name = charset.replace(['-', '_'], "");
    let others = ["utf16", "utf32", "utf7", "iso2022"];
    let has_ascii = !others.iter().any(|start| name.starts_with(start));
    match std::str::from_utf8(bytes) {
        Ok(text) if is_utf8 || has_ascii && text.is_ascii() => Ok(text),
        Err(_) if is_utf8 => Err(ApiError::request(
            "the request has text that is not UTF-8; encode it as UTF-8",
        )),
        _ => {
            let charset: String = charset.chars().take(40).collect();
            Err(ApiError::request(format!(
                "the request has text in `{charset}`, expected UTF-8; encode it as UTF-8"
            )))
        }
    }
}
