//! Glossaries that clients have stored, in files of a folder.

mod entries;
mod store;
mod stored;

pub(crate) use entries::{Entries, read_entries};
pub(crate) use store::Glossaries;
pub(crate) use stored::{Dictionary, GlossaryInfo, Pair, StoredGlossary};
