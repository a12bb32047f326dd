//! [`Grammar`]: the grammar of JSON (RFC 8259), without recursion; and [`JsonOptions`], the choice of strings.

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
    pub(super) fn new(options: &JsonOptions) -> Self {
        Self {
            is_included: options.include.is_empty(),
            is_excluded: false,
        }
    }

    pub(super) fn below(self, key: &str, options: &JsonOptions) -> Self {
        let is_in = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, key));
        Self {
            is_included: self.is_included || is_in(&options.include),
            is_excluded: self.is_excluded || is_in(&options.exclude),
        }
    }

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

pub(super) const MAX_DEPTH: usize = 512;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Expected {
    Value,
    /// A value, or `]` after `[`.
    ValueOrEnd,
    Key,
    /// A key, or `}` after `{`.
    KeyOrEnd,
    Colon,
    /// `,`, or the end of the object, array or document.
    CommaOrEnd,
}

#[derive(Debug)]
pub(super) struct Grammar {
    pub(super) expected: Expected,
    /// The strings to translate at this position.
    pub(super) selection: Selection,
    /// For each open object or array, true for an object, and the strings to translate in it.
    open: Vec<(bool, Selection)>,
}

impl Grammar {
    pub(super) fn new(selection: Selection) -> Self {
        Self {
            expected: Expected::Value,
            selection,
            open: Vec::new(),
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.open.is_empty() && self.expected == Expected::CommaOrEnd
    }

    pub(super) fn expects_value(&self) -> bool {
        matches!(self.expected, Expected::Value | Expected::ValueOrEnd)
    }

    pub(super) fn outer_selection(&self) -> Selection {
        self.open.last().map_or(self.selection, |last| last.1)
    }

    pub(super) fn end_value(&mut self) {
        self.expected = Expected::CommaOrEnd;
        self.selection = self.outer_selection();
    }

    /// Moves past one of `{}[],:`; returns whether it may come here. [`MAX_DEPTH`] limits opening braces and brackets;
    /// [`is_too_deep`](Self::is_too_deep) tells whether it is exceeded.
    pub(super) fn punctuate(&mut self, byte: u8) -> bool {
        let outer = self.open.last().map(|last| last.0);
        let (object, array) = (outer == Some(true), outer == Some(false));
        match (byte, self.expected) {
            (b'{' | b'[', Expected::Value | Expected::ValueOrEnd) => {
                self.open.push((byte == b'{', self.selection));
                self.expected = match byte {
                    b'{' => Expected::KeyOrEnd,
                    _ => Expected::ValueOrEnd,
                };
            }
            (b'}', Expected::KeyOrEnd | Expected::CommaOrEnd) if object => self.close(),
            (b']', Expected::ValueOrEnd | Expected::CommaOrEnd) if array => self.close(),
            (b',', Expected::CommaOrEnd) if object => self.expected = Expected::Key,
            (b',', Expected::CommaOrEnd) if array => self.expected = Expected::Value,
            (b':', Expected::Colon) => self.expected = Expected::Value,
            _ => return false,
        }
        true
    }

    pub(super) fn is_too_deep(&self) -> bool {
        self.open.len() > MAX_DEPTH
    }

    pub(super) fn description(&self) -> &'static str {
        let in_object = self.open.last().map(|last| last.0);
        match self.expected {
            Expected::Value => "a value",
            Expected::ValueOrEnd => "a value or `]`",
            Expected::Key => "a key in quotation marks",
            Expected::KeyOrEnd => "a key in quotation marks or `}`",
            Expected::Colon => "`:`",
            Expected::CommaOrEnd => match in_object {
                Some(true) => "`,` or `}`",
                Some(false) => "`,` or `]`",
                None => "the end of the file",
            },
        }
    }

    fn close(&mut self) {
        self.open.pop();
        self.end_value();
    }
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
