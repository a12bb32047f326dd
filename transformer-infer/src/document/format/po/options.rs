//! [`PoOptions`]: which messages of a catalog are translated.

/// Which messages of a catalog are translated, and how translations are marked.
#[derive(Clone, Copy, Debug, Default)]
pub struct PoOptions {
    /// What happens to messages that have a translation.
    pub filled: Filled,
    /// Marks translations with the flag `fuzzy`, as gettext's tools do with those that nobody has reviewed. A program
    /// does not use them until a person removes the flag. Off by default.
    pub fuzzy: bool,
}

/// What happens to a `msgstr` that is not empty.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Filled {
    /// It stays.
    #[default]
    Keep,
    /// It is translated again.
    Overwrite,
}
