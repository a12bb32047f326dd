//! [`Drawing`]: a figure of attention under construction, as SVG.

use std::fmt::Write;

use super::GENERATOR;
use transformer_core::text::escape_xml;

/// Height of a row of tokens, in pixels.
pub(super) const ROW: f32 = 22.0;

/// Space around the figure, and between labels and cells or lines, in pixels.
pub(super) const MARGIN: f32 = 12.0;
pub(super) const GAP: f32 = 8.0;

/// Estimated width of a character of the title, in pixels.
const TITLE_CHARACTER: f32 = 8.6;

/// A figure under construction. Positions are in pixels from the top left; text is SVG with escaped markup.
#[derive(Debug)]
pub(super) struct Drawing {
    body: String,
    /// The right end of the drawn content.
    width: f32,
    /// The lower end of the drawn content.
    height: f32,
}

impl Drawing {
    pub(super) fn new(width: f32, height: f32) -> Self {
        Self {
            body: String::new(),
            width,
            height,
        }
    }

    pub(super) fn width(&self) -> f32 {
        self.width
    }

    pub(super) fn height(&self) -> f32 {
        self.height
    }

    pub(super) fn extend_to(&mut self, height: f32) {
        self.height = height;
    }

    /// Writes the title at the top, and makes the figure at least as wide.
    pub(super) fn title(&mut self, title: &str) {
        let needed = MARGIN + TITLE_CHARACTER * title.chars().count() as f32;
        self.width = self.width.max(needed);
        let y = MARGIN + 10.0;
        self.add(&format!(
            "<text x=\"{MARGIN}\" y=\"{y}\" font-size=\"15\" font-weight=\"600\">{title}</text>"
        ));
    }

    pub(super) fn text(&mut self, x: f32, y: f32, anchor: &str, svg: &str) {
        let geometry = format!("x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\"");
        self.add(&format!(
            "<text {geometry} dominant-baseline=\"central\">{svg}</text>"
        ));
    }

    /// Writes a text rotated to read from bottom to top.
    pub(super) fn upwards(&mut self, x: f32, y: f32, anchor: &str, svg: &str) {
        let turn = format!("transform=\"translate({x} {y}) rotate(-90)\"");
        self.add(&format!(
            "<text {turn} text-anchor=\"{anchor}\" dominant-baseline=\"central\">{svg}</text>"
        ));
    }

    pub(super) fn cell(&mut self, x: f32, y: f32, color: &str) {
        let size = ROW - 1.0;
        let geometry = format!("x=\"{x}\" y=\"{y}\" width=\"{size}\" height=\"{size}\"");
        self.add(&format!("<rect {geometry} rx=\"2\" fill=\"{color}\"/>"));
    }

    pub(super) fn line(&mut self, start: [f32; 2], end: [f32; 2], color: &str, opacity: f32) {
        let [[x1, y1], [x2, y2]] = [start, end];
        let geometry = format!("x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"");
        let stroke = format!("stroke=\"{color}\" stroke-width=\"2.4\"");
        self.add(&format!(
            "<line {geometry} {stroke} stroke-opacity=\"{opacity:.3}\"/>"
        ));
    }

    fn add(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    /// Returns the file; `title` is the description for screen readers.
    pub(super) fn done(self, title: &str) -> String {
        let (width, height) = (self.width + MARGIN, self.height + MARGIN);
        let body = self.body;
        let mut svg = String::new();
        let size =
            format!("width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\"");
        let pieces = [
            format!("<svg xmlns=\"http://www.w3.org/2000/svg\" {size}>"),
            format!("<!-- {GENERATOR} -->"),
            format!("<title>{}</title>", escape_xml(title)),
            "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>".to_owned(),
            "<g font-family=\"'Helvetica Neue', Arial, 'Noto Sans', sans-serif\" font-size=\"13\" \
             fill=\"#1c2430\">"
                .to_owned(),
            format!("{body}</g></svg>"),
        ];
        for piece in pieces {
            let _ = writeln!(svg, "{piece}"); // writing to a string does not fail
        }
        svg
    }
}
