//! [`Selection`]: the map that a figure shows, and its form.

use super::{Kind, LayerHead};

/// The map that a figure shows, or that a page shows first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct Selection {
    /// The kind of attention.
    pub kind: Kind,
    /// The layer, and one of its heads or their mean.
    pub layer_head: LayerHead,
    /// The form of the drawing.
    pub view: View,
    /// The mapping of weights to the colors of a heat map.
    pub scale: ColorScale,
}

/// The form in which a map is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub enum View {
    /// A heat map: a row for each query, a column for each key.
    #[default]
    HeatMap,
    /// Lines between two columns of tokens.
    Lines,
    /// Lines in a color for each head, as in the paper's Figures 3 to 5: of all heads of the layer if the selection is
    /// their mean, otherwise of the selected head.
    HeadLines,
}

/// The mapping of weights to the colors of a heat map; the legend names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub enum ColorScale {
    /// By the square root of the weight, so that small weights are visible.
    #[default]
    Root,
    /// In proportion to the weight.
    Linear,
}

impl ColorScale {
    /// Returns the name in commands and pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Linear => "linear",
        }
    }

    /// Returns the position of a weight in the range of colors, from 0 to 1.
    pub(super) fn position(self, weight: f32) -> f32 {
        let weight = weight.clamp(0.0, 1.0);
        match self {
            Self::Root => weight.sqrt(),
            Self::Linear => weight,
        }
    }

    /// Returns the weights that a legend shows.
    pub(super) const fn marks(self) -> [f32; 5] {
        match self {
            Self::Root => [0.0, 0.05, 0.25, 0.5, 1.0],
            Self::Linear => [0.0, 0.25, 0.5, 0.75, 1.0],
        }
    }
}
