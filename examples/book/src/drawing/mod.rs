//! Pictures as SVG: charts, heat maps, trees, and boxes with arrows.

mod bars;
mod chart;
mod diagram;
pub mod figures;
mod heat_map;
mod picture;
mod scale;
mod tree;

pub use bars::BarChart;
pub use chart::Chart;
pub use diagram::Diagram;
pub use heat_map::HeatMap;
pub use picture::Picture;
pub use scale::Scale;
pub use tree::Tree;
