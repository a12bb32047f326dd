//! Boxes and arrows in a [`Picture`].

use super::picture::{Picture, short};

impl Picture {
    /// Draws a box 30 pixels high with a text in it; the position is the middle of its lower side.
    pub(super) fn block(&mut self, x: f64, bottom: f64, width: f64, text: &str) {
        self.boxed("box", x, bottom, width, text);
    }

    /// Draws a colored box 30 pixels high, for the subject of the text.
    pub(super) fn main_block(&mut self, x: f64, bottom: f64, width: f64, text: &str) {
        self.boxed("on", x, bottom, width, text);
    }

    fn boxed(&mut self, class: &str, x: f64, bottom: f64, width: f64, text: &str) {
        self.rectangle([x - width / 2.0, bottom - 30.0, width, 30.0], class);
        self.text(x, bottom - 10.0, "middle", text);
    }

    /// Draws a line with a tip at its last point.
    ///
    /// # Panics
    ///
    /// Panics if there are fewer than two points.
    pub(super) fn arrow(&mut self, points: &[(f64, f64)]) {
        self.line(points, "arrow");
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
        self.push(&format!("<polygon points=\"{tip}\" class=\"tip\"/>"));
    }
}
