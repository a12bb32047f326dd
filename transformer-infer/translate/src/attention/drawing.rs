//! [`Drawing`]: a figure of attention under construction, as SVG; and the colors of weights and heads.

use std::fmt::Write;

use transformer_core::text::escape_xml;

use super::{ColorScale, GENERATOR};

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
    pub(super) width: f32,
    /// The lower end of the drawn content.
    pub(super) height: f32,
}

impl Drawing {
    pub(super) fn new(width: f32, height: f32) -> Self {
        Self {
            body: String::new(),
            width,
            height,
        }
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

/// The colors at the positions 0, ½ and 1, with interpolation between them; the same as on the page.
const RAMP: [[f32; 3]; 3] = [
    [238.0, 242.0, 248.0],
    [76.0, 139.0, 214.0],
    [12.0, 36.0, 97.0],
];

pub(super) fn color_of_weight(weight: f32, scale: ColorScale) -> String {
    let position = scale.position(weight) * 2.0;
    let (from, to, share) = match position < 1.0 {
        true => (RAMP[0], RAMP[1], position),
        false => (RAMP[1], RAMP[2], position - 1.0),
    };
    let channel = |index: usize| from[index] + (to[index] - from[index]) * share;
    hexadecimal([channel(0), channel(1), channel(2)])
}

/// Returns the color of a head, counted from 1, among `n_heads`: equally spaced hues from blue on, as on the page.
pub(super) fn color_of_head(head: usize, n_heads: usize) -> String {
    let hue = ((head - 1) as f32 * 360.0 / n_heads as f32 + 215.0) % 360.0;
    // From hue, saturation and lightness: https://www.w3.org/TR/css-color-3/#hsl-color
    let (saturation, lightness) = (0.72_f32, 0.44_f32);
    let channel = |shift: f32| {
        let k = (shift + hue / 30.0) % 12.0;
        let range = saturation * lightness.min(1.0 - lightness);
        255.0 * (lightness - range * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0))
    };
    hexadecimal([channel(0.0), channel(8.0), channel(4.0)])
}

fn hexadecimal(channels: [f32; 3]) -> String {
    let mut color = String::from("#");
    for channel in channels {
        let _ = write!(color, "{:02x}", channel.round() as u8); // writing to a string does not fail
    }
    color
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_of_the_ramp_have_its_colors() {
        let colors =
            |scale, middle| [0.0, middle, 1.0].map(|weight| color_of_weight(weight, scale));
        let expected = ["#eef2f8", "#4c8bd6", "#0c2461"];
        assert_eq!(colors(ColorScale::Root, 0.25), expected);
        assert_eq!(colors(ColorScale::Linear, 0.5), expected);
    }

    #[test]
    fn hues_become_the_colors_that_browsers_compute() {
        // hsl(215 72% 44%) and hsl(35 72% 44%), from Python's colorsys.
        assert_eq!(color_of_head(1, 2), "#1f63c1");
        assert_eq!(color_of_head(2, 2), "#c17e1f");
    }

    #[test]
    fn every_head_has_a_color_of_its_own() {
        let mut colors: Vec<String> = (1..=16).map(|head| color_of_head(head, 16)).collect();
        colors.sort();
        colors.dedup();
        assert_eq!(colors.len(), 16);
    }
}
