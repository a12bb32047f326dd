//! [`XmlOptions`]: what the tags of XML mean for its translation.

/// What the tags of XML mean for its translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XmlOptions {
    /// Names of elements whose tags end a sentence. Default: none.
    pub splitting_tags: Vec<String>,
    /// Names of elements whose tags never end a sentence. Default: none.
    pub non_splitting_tags: Vec<String>,
    /// Names of elements that are copied with all that is in them. Default: none.
    pub ignored_tags: Vec<String>,
    /// Whether the structure of a document ends sentences, too: the tags of its only element, and those of the
    /// children of all such elements that have elements and no text. Default: true.
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
    /// Whether the tags of an element end a sentence.
    pub(super) fn is_wall(&self, name: &str, in_outline: bool) -> bool {
        let is_in = |names: &[String]| names.iter().any(|it| it == name);
        !is_in(&self.non_splitting_tags) && (in_outline || is_in(&self.splitting_tags))
    }

    /// Whether an element is copied.
    pub(super) fn is_ignored(&self, name: &str) -> bool {
        self.ignored_tags.iter().any(|it| it == name)
    }
}
