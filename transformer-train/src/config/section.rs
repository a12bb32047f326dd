//! The sections of a file of settings, as the generated table in `keys.rs` lists them.

/// A section of a file of settings.
pub(super) struct Section {
    /// Its name, without brackets.
    pub(super) name: &'static str,
    /// What its settings are about.
    pub(super) meaning: &'static str,
    /// Its keys, in the order in which they are documented.
    pub(super) keys: &'static [Key],
}

/// A setting.
pub(super) struct Key {
    /// Its name in the section.
    pub(super) name: &'static str,
    /// Its meaning, unit, default and source.
    pub(super) meaning: &'static str,
    /// For a key that need not be set: a value that it can have, in TOML.
    pub(super) example: Option<&'static str>,
}
