//! [`Diagram`]: boxes and arrows.

use anyhow::Result;

use super::picture::{Picture, short};

/// A drawing of boxes and arrows, in pixels from the top left.
#[derive(Clone, Debug)]
pub struct Diagram(Picture);

impl Diagram {
    /// Begins an empty drawing.
    pub fn new(width: f64, height: f64, title: &str) -> Self {
        Self(Picture::new(width, height, title))
    }

    /// Draws a box 30 pixels high with a text in it; the position is the middle of its lower side.
    pub fn block(&mut self, x: f64, bottom: f64, width: f64, text: &str) {
        self.0.rectangle([x - width / 2.0, bottom - 30.0, width, 30.0], "box");
        self.0.text(x, bottom - 10.0, "middle", text);
    }

    /// Draws a colored box 30 pixels high, for the subject of the text.
    pub fn main_block(&mut self, x: f64, bottom: f64, width: f64, text: &str) {
        self.0.rectangle([x - width / 2.0, bottom - 30.0, width, 30.0], "on");
        self.0.text(x, bottom - 10.0, "middle", text);
    }

    /// Draws a frame without a text.
    pub fn frame(&mut self, area: [f64; 4]) {
        self.0.rectangle(area, "axis");
    }

    /// Draws a line with a tip at its last point.
    ///
    /// # Panics
    ///
    /// Panics if there are fewer than two points.
    pub fn arrow(&mut self, points: &[(f64, f64)]) {
        self.0.line(points, "arrow");
        let [.., (from_x, from_y), (x, y)] = points else {
            panic!("an arrow has two ends, but {} points are given", points.len());
        };
        let length = f64::hypot(x - from_x, y - from_y).max(1e-9);
        let (along_x, along_y) = ((x - from_x) / length * 7.0, (y - from_y) / length * 7.0);
        let corner = |side: f64| {
            let corner_x = x - along_x - along_y * 0.5 * side;
            let corner_y = y - along_y + along_x * 0.5 * side;
            format!("{},{}", short(corner_x), short(corner_y))
        };
        let tip = format!("{},{} {} {}", short(*x), short(*y), corner(1.0), corner(-1.0));
        self.0.push(&format!("<polygon points=\"{tip}\" class=\"tip\"/>"));
    }

    /// Writes a text; the class is as in [`Picture::text`].
    pub fn text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        self.0.text(x, y, class, text);
    }

    /// Writes the drawing like [`Picture::save`].
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn save(&self, name: &str) -> Result<()> {
        self.0.save(name)
    }
}
