//! [`JsonOptions`], and [`Selection`]: decides whether the strings at a position are translated.

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

/// The choice whether to translate the strings at a position, by the keys above it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Selection {
    is_included: bool,
    is_excluded: bool,
}

impl Selection {
    /// Returns the selection of a whole document.
    pub(super) fn new(options: &JsonOptions) -> Self {
        Self {
            is_included: options.include.is_empty(),
            is_excluded: false,
        }
    }

    /// Returns the selection below a key.
    pub(super) fn below(self, key: &str, options: &JsonOptions) -> Self {
        let is_in = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, key));
        Self {
            is_included: self.is_included || is_in(&options.include),
            is_excluded: self.is_excluded || is_in(&options.exclude),
        }
    }

    /// Returns whether strings are translated.
    pub(super) fn is_translated(self) -> bool {
        self.is_included && !self.is_excluded
    }
}

/// Returns whether a key matches a pattern, in which `*` matches any characters.
fn matches(pattern: &str, key: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == key;
    };
    let Some(mut key) = key.strip_prefix(start) else {
        return false;
    };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let end = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some(at) = key.find(piece) else {
            return false;
        };
        key = &key[at + piece.len()..];
    }
    key.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        assert!(matches("*_title*", "page_title_long"));
        assert!(matches("a*", "a"));
        assert!(matches("a*b*b", "abb"));
        assert!(!matches("a*b*b", "ab"));
        assert!(!matches("title", "titles"));
    }
}
