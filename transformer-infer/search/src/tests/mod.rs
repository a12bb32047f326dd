//! Tests of whole searches, with tables of probabilities as models.

mod beam;
mod contained;
mod options;
mod phrases;
mod reference;
mod table;

pub(crate) use table::Table;
