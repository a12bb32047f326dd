//! The drawing of training curves as SVG elements, and their axes: ranges, ticks and labels.

use std::fmt::Write;

use transformer_core::text::escape_xml;

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

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) update: f64,
    pub(super) value: f64,
}

pub(super) struct Drawing {
    svg: String,
    last: f64,
}

impl Drawing {
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
    pub(super) fn frame(&mut self, panel: &Panel, labels: &[(f64, String)]) {
        for update in ticks(0.0, self.last, 8) {
            let (x, top, bottom) = (self.x(update), panel.top, panel.bottom());
            self.add(format_args!(
                "<path class=\"grid\" d=\"M{x:.1} {top:.1}V{bottom:.1}\"/>"
            ));
        }
        for (value, label) in labels {
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

/// A panel of the image with its vertical axis.
#[derive(Debug)]
pub(super) struct Panel {
    pub(super) top: f64,
    height: f64,
    /// Value at the bottom edge.
    pub(super) lo: f64,
    /// Value at the top edge.
    pub(super) hi: f64,
}

impl Panel {
    /// Creates a panel that contains all values, with a margin given as a fraction of their range.
    pub(super) fn around(
        top: f64,
        height: f64,
        values: impl Iterator<Item = f64> + Clone,
        margin: f64,
    ) -> Self {
        let lo = values.clone().fold(f64::INFINITY, f64::min);
        let hi = values.fold(f64::NEG_INFINITY, f64::max);
        let (lo, hi) = if lo <= hi { (lo, hi) } else { (0.0, 1.0) };
        let margin = ((hi - lo) * margin).max(0.05);
        Self {
            top,
            height,
            lo: lo - margin,
            hi: hi + margin,
        }
    }

    /// Creates a panel from zero to above all values.
    pub(super) fn from_zero(top: f64, height: f64, values: impl Iterator<Item = f64>) -> Self {
        let highest = values.fold(0.0, f64::max);
        let hi = if highest > 0.0 { 1.08 * highest } else { 1.0 };
        Self {
            top,
            height,
            lo: 0.0,
            hi,
        }
    }

    pub(super) fn bottom(&self) -> f64 {
        self.top + self.height
    }

    pub(super) fn y(&self, value: f64) -> f64 {
        self.top + self.height * (self.hi - value) / (self.hi - self.lo)
    }
}

/// Returns about `max_ticks` or fewer multiples of 1, 2 or 5 times a power of ten between `lo` and `hi`.
pub(super) fn ticks(lo: f64, hi: f64, max_ticks: usize) -> Vec<f64> {
    let raw = (hi - lo) / max_ticks as f64;
    let power = 10_f64.powf(raw.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = steps.into_iter().find(|step| *step >= raw).unwrap_or(raw);
    let first = (lo / step).ceil() as i64;
    let last = (hi / step).floor() as i64;
    (first..=last).map(|n| n as f64 * step).collect()
}

/// Returns round perplexities: their positions on the axis, in nats, and their labels.
pub(super) fn perplexity_ticks(panel: &Panel) -> Vec<(f64, String)> {
    let (lo, hi) = (panel.lo.exp(), panel.hi.exp());
    let decades = -1..=9;
    let round = |factors: &[f64]| -> Vec<f64> {
        let all = decades
            .clone()
            .flat_map(|power| factors.iter().map(move |f| f * 10_f64.powi(power)));
        all.filter(|value| (lo..=hi).contains(value)).collect()
    };
    let one_two_five = round(&[1.0, 2.0, 5.0]);
    let values = match one_two_five.len() {
        0..3 => ticks(lo, hi, 5)
            .into_iter()
            .filter(|value| *value > 0.0)
            .collect(),
        3..10 => one_two_five,
        _ => round(&[1.0]),
    };
    values
        .into_iter()
        .map(|value| (value.ln(), number(value)))
        .collect()
}

pub(super) fn with_labels(ticks: &[f64]) -> Vec<(f64, String)> {
    ticks.iter().map(|tick| (*tick, number(*tick))).collect()
}

/// Formats a round number without trailing zeros.
pub(super) fn number(value: f64) -> String {
    let trimmed = |digits: &str| {
        digits
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned()
    };
    match value.abs() {
        0.0 => "0".to_owned(),
        small if small < 0.01 => {
            let rounded = format!("{value:.2e}");
            let (digits, power) = rounded.split_once('e').unwrap_or((&rounded, "0"));
            format!("{}e{power}", trimmed(digits))
        }
        large if large >= 100.0 => format!("{value:.0}"),
        _ => trimmed(&format!("{value:.3}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_within_the_range() {
        assert_eq!(
            ticks(0.0, 3300.0, 8),
            [0.0, 500.0, 1000.0, 1500.0, 2000.0, 2500.0, 3000.0]
        );
    }

    #[test]
    fn perplexities_have_ticks_on_a_logarithmic_scale() {
        let panel = Panel {
            top: 0.0,
            height: 100.0,
            lo: 1.5_f64.ln(),
            hi: 60_f64.ln(),
        };
        let labels: Vec<String> = perplexity_ticks(&panel)
            .into_iter()
            .map(|(_, it)| it)
            .collect();
        assert_eq!(labels, ["2", "5", "10", "20", "50"]);
    }
}
