//! What a picture shows.

use super::{Heads, Kind};

/// Chooses what a figure shows, or what a page shows first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Which attention.
    pub kind: Kind,
    /// Which of its layers and heads.
    pub heads: Heads,
    /// How it is drawn.
    pub view: View,
}

/// Says how a map is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// A heat map: a row for each token that looks, a column for each that is looked at.
    #[default]
    Map,
    /// Lines between two columns of tokens, as in the paper's Figures 3 to 5.
    Lines,
}

impl View {
    /// Returns the name, as commands and pages write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Map => "map",
            Self::Lines => "lines",
        }
    }
}
