//! [`JsonError`]: the errors of reading JSON.

use std::fmt;

use serde::de::Error;

/// Error of reading JSON.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "a field's name says what it holds")]
pub enum JsonError {
    /// The text is not JSON, or has a key twice.
    #[error(transparent)]
    Text(#[from] serde_json::Error),
    /// A key is missing or unknown, or its value is not as expected.
    #[error("{}{message}", location(path))]
    Content {
        /// The keys that lead to the value, from the outside in; a number is a position in a list, from 0.
        path: Vec<String>,
        message: String,
    },
}

fn location(path: &[String]) -> String {
    match path {
        [] => String::new(),
        path => format!("`{}`: ", path.join(".")),
    }
}

impl JsonError {
    /// Adds a key in front of the path.
    pub(super) fn inside(self, key: &str) -> Self {
        match self {
            Self::Text(error) => Self::Text(error),
            Self::Content { mut path, message } => {
                path.insert(0, key.to_owned());
                Self::Content { path, message }
            }
        }
    }
}

impl Error for JsonError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Content {
            path: Vec::new(),
            message: message.to_string(),
        }
    }
}
