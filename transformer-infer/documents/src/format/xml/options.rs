//! [`XmlOptions`]: the meaning of XML tags for translation.

/// The meaning of XML tags for translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XmlOptions {
    /// Names of elements with tags that end a sentence. Default: none.
    pub splitting_tags: Vec<String>,
    /// Names of elements with tags that never end a sentence. Default: none.
    pub non_splitting_tags: Vec<String>,
    /// Names of elements that are copied with all their content. Default: none.
    pub ignored_tags: Vec<String>,
    /// True if the structure of a document also ends sentences: the tags of its only element, and those of the children
    /// of all such elements that have elements but no text. Default: true.
    pub has_outline: bool,
}

impl Default for XmlOptions {
    fn default() -> Self {
        Self {
            splitting_tags: Vec::new(),
            non_splitting_tags: Vec::new(),
            ignored_tags: Vec::new(),
            has_outline: true,
        }
    }
}

impl XmlOptions {
    /// Returns whether the tags of an element end a sentence.
    pub(super) fn is_wall(&self, name: &str, in_outline: bool) -> bool {
        let is_in = |names: &[String]| names.iter().any(|it| it == name);
        !is_in(&self.non_splitting_tags) && (in_outline || is_in(&self.splitting_tags))
    }

    /// Returns whether an element is copied.
    pub(super) fn is_ignored(&self, name: &str) -> bool {
        self.ignored_tags.iter().any(|it| it == name)
    }
}
