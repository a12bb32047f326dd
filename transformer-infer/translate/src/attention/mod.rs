//! The attention weights of every head for one sentence: as data, alignment, HTML page and figure.
//!
//! - [`Attention`]: the weights and the tokens, from [`Translator::attention`](crate::Translator::attention).
//! - [`LayerHead`]: a layer, and one of its heads or their mean.
//! - [`Alignment`]: the source word with the highest weight for each word of the output, in Pharaoh format; for many
//!   lines at once from [`Translator::alignments`](crate::Translator::alignments).
//! - [`page`]: all maps on one self-contained HTML page; [`page_data`]: its data.
//! - [`figure`]: one map as an SVG figure for a paper.

mod align_lines;
mod alignment;
mod drawing;
mod figure;
mod page;
mod record;
mod selection;

pub use alignment::Alignment;
pub use figure::figure;
pub use page::{COLORS, GENERATOR, SCRIPT, STYLE, TEMPLATE, page, page_data};
#[doc(hidden)]
pub use record::words_of;
pub use selection::{Attention, ColorScale, Head, Kind, LayerHead, Map, Selection, Token, View};
#[doc(hidden)]
pub use transformer_core::text::Link;
