//! Glossaries that clients have stored, in files of a folder.

mod store;
mod stored;

pub(crate) use store::Glossaries;
pub(crate) use stored::{
    Dictionary, DictionaryInfo, Entries, GlossaryInfo, Pair, StoredGlossary, read_entries,
};
