//! Claims about whole searches, over models that are tables of probabilities.

mod beam;
mod options;
mod reference;
mod table;

pub(super) use table::Table;
