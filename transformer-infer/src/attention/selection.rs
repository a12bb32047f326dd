//! [`Selection`]: which map a figure shows, and how.

use super::{Kind, LayerHead};

/// The map that a figure shows, or that a page shows first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The kind of attention.
    pub kind: Kind,
    /// The layer, and one of its heads or their mean.
    pub layer_head: LayerHead,
    /// How the map is drawn.
    pub view: View,
}

/// How a map is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// A heat map: a row for each query, a column for each key.
    #[default]
    HeatMap,
    /// Lines between two columns of tokens, as in the paper's Figures 3 to 5.
    Lines,
}

impl View {
    /// Returns the name in commands and pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HeatMap => "map",
            Self::Lines => "lines",
        }
    }
}
