//! [`PoOptions`]: the selection of messages to translate in a catalog.

/// The selection of messages to translate in a catalog, and the marking of translations.
#[derive(Clone, Copy, Debug, Default)]
pub struct PoOptions {
    /// The treatment of messages that have a translation.
    pub filled: Filled,
    /// True if translations get the flag `fuzzy`, with which gettext's tools mark those that nobody has reviewed.
    /// Programs do not use them until a person removes the flag. Default: false.
    pub fuzzy: bool,
}

/// The treatment of a `msgstr` that is not empty.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Filled {
    /// It stays.
    #[default]
    Keep,
    /// It is translated again.
    Overwrite,
}
