//! [`Parameters`]: what a request says, in whichever way it says it.

use axum::body::Bytes;
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use serde_json::{Map, Value};

use crate::serve::http::ApiError;

/// The parameters of a request: of a JSON object, of a form, or of the address.
///
/// Other servers take them in all these ways, and clients use all. What the body says counts before the address.
#[derive(Debug, Default)]
pub(crate) struct Parameters {
    values: Map<String, Value>,
    file: Option<UploadedFile>,
}

/// The file of a form.
#[derive(Clone, Debug)]
pub(crate) struct UploadedFile {
    /// The name that the client gave it.
    pub(crate) name: String,
    pub(crate) bytes: Bytes,
}

/// The texts of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Texts {
    /// A single text, whose reply is not a list.
    One(String),
    Many(Vec<String>),
}

impl Texts {
    /// Returns the texts.
    pub(crate) fn as_slice(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        }
    }
}

/// How the body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyKind {
    Json,
    Form,
    Multipart,
    Other,
}

impl BodyKind {
    fn of(headers: &HeaderMap) -> Self {
        let value = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let kind = value
            .unwrap_or_default()
            .split(';')
            .next()
            .unwrap_or_default();
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

impl Parameters {
    /// Reads the parameters of a request, whose body is limited.
    pub(crate) async fn of(request: Request) -> Result<Self, ApiError> {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let mut parameters = match BodyKind::of(request.headers()) {
            BodyKind::Multipart => Self::of_multipart(request).await?,
            kind => {
                let body = Bytes::from_request(request, &()).await;
                let body = body.map_err(|_| ApiError::BrokenBody)?;
                Self::of_body(kind, &body)?
            }
        };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if !parameters.values.contains_key(&*name) {
                parameters.push(&name, &value);
            }
        }
        Ok(parameters)
    }

    fn of_body(kind: BodyKind, body: &[u8]) -> Result<Self, ApiError> {
        let mut parameters = Self::default();
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
                parameters.values = values;
            }
            BodyKind::Form => {
                let mut form = Self::default();
                for (name, value) in form_urlencoded::parse(body) {
                    form.push(&name, &value);
                }
                parameters = form;
            }
            BodyKind::Multipart | BodyKind::Other => {}
        }
        Ok(parameters)
    }

    async fn of_multipart(request: Request) -> Result<Self, ApiError> {
        let broken = |_| ApiError::BrokenBody;
        let mut form = Multipart::from_request(request, &())
            .await
            .map_err(|_| ApiError::BrokenBody)?;
        let mut parameters = Self::default();
        while let Some(field) = form.next_field().await.map_err(broken)? {
            let name = field.name().unwrap_or_default().to_owned();
            match field.file_name().map(str::to_owned) {
                Some(file_name) => {
                    let bytes = field.bytes().await.map_err(broken)?;
                    parameters.file = Some(UploadedFile {
                        name: file_name,
                        bytes,
                    });
                }
                None => {
                    let text = field.text().await.map_err(broken)?;
                    parameters.push(&name, &text);
                }
            }
        }
        Ok(parameters)
    }

    /// Adds a value of a form; a name that comes several times has a list. Names such as `text[]` are those of lists.
    fn push(&mut self, name: &str, value: &str) {
        let name = name.strip_suffix("[]").unwrap_or(name);
        let value = Value::String(value.replace("\r\n", "\n"));
        match self.values.get_mut(name) {
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
            None => {
                self.values.insert(name.to_owned(), value);
            }
        }
    }

    /// Returns the file of a form.
    pub(crate) fn file(&self) -> Option<&UploadedFile> {
        self.file.as_ref()
    }

    /// Returns a text that is not empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let value = self.values.get(name)?;
        let value = match value {
            Value::Array(values) => values.first()?,
            value => value,
        };
        value.as_str().filter(|text| !text.is_empty())
    }

    /// Returns the texts of a name: one, or a list; `None` if it is missing.
    ///
    /// # Errors
    ///
    /// Returns an error if it is anything else.
    pub(crate) fn texts(&self, name: &str) -> Result<Option<Texts>, ApiError> {
        let wrong = || {
            ApiError::request(format!(
                "Invalid request: {name} must be a string or an array of strings"
            ))
        };
        match self.values.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(Texts::One(text.clone()))),
            Some(Value::Array(values)) => {
                let texts = values.iter().map(|value| value.as_str().map(str::to_owned));
                let texts: Option<Vec<String>> = texts.collect();
                Ok(Some(Texts::Many(texts.ok_or_else(wrong)?)))
            }
            Some(_) => Err(wrong()),
        }
    }

    /// Returns a list of texts, which forms may write with commas; empty if it is missing.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let of_text = |text: &str| -> Vec<String> {
            let parts = text
                .split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty());
            parts.map(str::to_owned).collect()
        };
        match self.values.get(name) {
            Some(Value::String(text)) => of_text(text),
            Some(Value::Array(values)) => values
                .iter()
                .filter_map(Value::as_str)
                .flat_map(of_text)
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Returns a number, which forms write as text; `None` if it is missing.
    ///
    /// # Errors
    ///
    /// Returns an error if it is anything else.
    pub(crate) fn number(&self, name: &str) -> Result<Option<usize>, ApiError> {
        let number = match self.values.get(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Number(number)) => number.as_u64(),
            Some(Value::String(text)) if text.is_empty() => return Ok(None),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(_) => None,
        };
        let number = number.and_then(|number| usize::try_from(number).ok());
        let wrong = || {
            ApiError::request(format!(
                "Invalid request: {name} must be a number, 0 or more"
            ))
        };
        number.map(Some).ok_or_else(wrong)
    }

    /// Returns whether a name is true, as JSON and forms write it; `None` if it is missing or neither.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        match self.values.get(name)? {
            Value::Bool(flag) => Some(*flag),
            Value::String(text) => match text.as_str() {
                "1" | "true" => Some(true),
                "0" | "false" => Some(false),
                _ => None,
            },
            Value::Number(number) => number.as_u64().map(|number| number != 0),
            _ => None,
        }
    }
}
