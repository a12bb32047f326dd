//! The drawing of training curves as SVG elements.

use std::fmt::Write;

use transformer_core::text::escape_xml;

use super::axis::{self, Panel};

/// Size of the image and horizontal edges of its panels, in pixels.
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 714.0;
pub(super) const LEFT: f64 = 62.0;
pub(super) const RIGHT: f64 = 846.0;

/// Light colors, or dark ones if the reader's system is in dark mode.
const STYLE: &str = "<style>text{font:13px system-ui,sans-serif;fill:#57606a}\
.title{font-size:18px;font-weight:600;fill:#1f2328}.value{font-weight:600;fill:#1f2328}\
.end{text-anchor:end}.middle{text-anchor:middle}.page{fill:#fff}.grid{stroke:#d8dee4}\
.axis{stroke:#8c959f}.line{fill:none;stroke-width:2.2;stroke-linejoin:round;stroke-linecap:round}\
.valid{stroke:#0969da}.train{stroke:#bc4c00}.bleu{stroke:#1a7f37}.rate{stroke:#8250df}\
circle.valid{fill:#0969da}circle.train{fill:#bc4c00}circle.bleu{fill:#1a7f37}circle.rate{fill:#8250df}\
circle.best{fill:#fff;stroke-width:2.2}\
@media(prefers-color-scheme:dark){text{fill:#9198a1}.title,.value{fill:#f0f6fc}.page{fill:#0d1117}\
.grid{stroke:#2a313c}.axis{stroke:#656c76}.valid{stroke:#58a6ff}.train{stroke:#f0883e}.bleu{stroke:#3fb950}\
.rate{stroke:#a371f7}circle.valid{fill:#58a6ff}circle.train{fill:#f0883e}circle.bleu{fill:#3fb950}\
circle.rate{fill:#a371f7}circle.best{fill:#0d1117}}</style>";

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// Number of updates done.
    pub(super) update: f64,
    pub(super) value: f64,
}

/// An image under construction.
pub(super) struct Drawing {
    svg: String,
    /// The update at the right edge.
    last: f64,
}

impl Drawing {
    /// Creates an empty image with a horizontal axis that ends at the update `last`.
    pub(super) fn new(last: f64) -> Self {
        Self {
            svg: String::new(),
            last,
        }
    }

    pub(super) fn x(&self, update: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * update / self.last
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.svg, "{element}");
    }

    pub(super) fn text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        let text = escape_xml(text);
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{text}</text>"
        ));
    }

    /// Writes the name of a panel's vertical axis, rotated to read from bottom to top.
    pub(super) fn upwards(&mut self, x: f64, panel: &Panel, name: &str) {
        let y = f64::midpoint(panel.top, panel.bottom());
        let name = escape_xml(name);
        self.add(format_args!(
            "<text transform=\"translate({x:.1} {y:.1}) rotate(-90)\" class=\"middle\">{name}</text>"
        ));
    }

    /// Draws grid lines, horizontal ones with labels on the left.
    pub(super) fn frame(&mut self, panel: &Panel, ticks: &[(f64, String)]) {
        for update in axis::ticks(0.0, self.last, 8) {
            let (x, top, bottom) = (self.x(update), panel.top, panel.bottom());
            self.add(format_args!(
                "<path class=\"grid\" d=\"M{x:.1} {top:.1}V{bottom:.1}\"/>"
            ));
        }
        for (value, label) in ticks {
            let y = panel.y(*value);
            self.add(format_args!(
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{RIGHT}\"/>"
            ));
            self.text(LEFT - 8.0, y + 4.5, "end", label);
        }
        let bottom = panel.bottom();
        self.add(format_args!(
            "<path class=\"axis\" d=\"M{LEFT} {bottom:.1}H{RIGHT}\"/>"
        ));
    }

    /// Draws a legend entry and returns the horizontal position for the next one.
    pub(super) fn legend(
        &mut self,
        x: f64,
        y: f64,
        class: &str,
        name: &str,
        value: Option<String>,
    ) -> f64 {
        let value = value.unwrap_or_else(|| "none yet".to_owned());
        let cy = y - 4.5;
        self.add(format_args!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{cy:.1}\" r=\"4.5\"/>"
        ));
        let (text_x, name_svg, value_svg) = (x + 11.0, escape_xml(name), escape_xml(&value));
        self.add(format_args!(
            "<text x=\"{text_x:.1}\" y=\"{y:.1}\">{name_svg} <tspan class=\"value\">{value_svg}</tspan></text>"
        ));
        // The reader's font is unknown; this estimate leaves some room.
        text_x + 7.2 * (name.chars().count() + value.chars().count() + 1) as f64 + 22.0
    }

    pub(super) fn line(&mut self, panel: &Panel, points: &[Point], class: &str) {
        if let [point] = points {
            self.dot(panel, *point, class, 3.5);
        }
        let mut path = String::new();
        for (index, point) in points.iter().enumerate() {
            let letter = if index == 0 { 'M' } else { 'L' };
            let (x, y) = (self.x(point.update), panel.y(point.value));
            let _ = write!(path, "{letter}{x:.1} {y:.1}");
        }
        if points.len() > 1 {
            self.add(format_args!("<path class=\"line {class}\" d=\"{path}\"/>"));
        }
    }

    pub(super) fn dot(&mut self, panel: &Panel, point: Point, class: &str, radius: f64) {
        let (x, y) = (self.x(point.update), panel.y(point.value));
        self.add(format_args!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>"
        ));
    }

    pub(super) fn finish(self, title: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
             height=\"{HEIGHT}\" role=\"img\">\n<title>{}</title>\n{STYLE}\n\
             <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n{}</svg>\n",
            escape_xml(title),
            self.svg
        )
    }
}
