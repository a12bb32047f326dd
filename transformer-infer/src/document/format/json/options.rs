//! [`JsonOptions`]: which strings of a JSON document are translated.

/// Which strings of a JSON document are translated, by their keys.
///
/// A pattern is a key, in which `*` stands for any characters. A key applies to all that is below it, also through
/// arrays.
#[derive(Clone, Debug)]
pub struct JsonOptions {
    /// Keys whose strings are translated; all if it is empty, as by default.
    pub include: Vec<String>,
    /// Keys whose strings are not translated, even if a key of `include` matches. By default `@*`: the metadata of ARB.
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
