//! Pictures as SVG: charts, heat maps, and boxes with arrows.

mod bars;
mod chart;
mod diagram;
pub mod figures;
mod heat_map;
mod picture;
mod scale;

pub use bars::BarChart;
pub use chart::Chart;
pub use heat_map::HeatMap;
pub use picture::Picture;
pub use scale::Scale;
