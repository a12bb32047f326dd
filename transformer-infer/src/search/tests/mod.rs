//! Tests of whole searches, with tables of probabilities as models.

mod beam;
mod options;
mod reference;
mod table;

pub(super) use table::Table;
