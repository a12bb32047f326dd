//! [`JsonOptions`]: the selection of strings to translate in a JSON document.

/// The selection of strings to translate in a JSON document, by their keys.
///
/// A pattern is a key, in which `*` matches any characters. A key applies to everything below it, including through
/// arrays.
#[derive(Clone, Debug)]
pub struct JsonOptions {
    /// Keys of strings to translate; all if empty, which is the default.
    pub include: Vec<String>,
    /// Keys of strings not to translate, even if they match `include`. By default `@*`: the metadata of ARB.
    pub exclude: Vec<String>,
}

impl Default for JsonOptions {
    fn default() -> Self {
        Self {
            include: Vec::new(),
            exclude: vec!["@*".to_owned()],
        }
    }
}
