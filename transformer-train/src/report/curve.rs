//! Training curves as an SVG image: loss, BLEU and learning rate over the updates.

use std::fmt::Write;

use crate::validation::{BLEU, LOSS, PERPLEXITY};

/// Size of the image and horizontal edges of its panels, in pixels.
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 660.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 846.0;

/// Number of line segments of the learning rate.
const N_RATES: u64 = 240;

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

/// Draws the contents of `metrics.csv`.
///
/// The upper panel has one vertical axis with two scales: perplexity, logarithmic, on the left, and the
/// loss in nats per token on the right.
pub(crate) fn curve(table: &str, title: &str, learning_rate: impl Fn(u64) -> f64) -> String {
    let train = series(table, "train", LOSS);
    let perplexity = series(table, "valid", PERPLEXITY);
    let bleu = series(table, "valid", BLEU);
    let all_points = train.iter().chain(&perplexity).chain(&bleu);
    let last = all_points.map(|point| point.update).fold(1.0, f64::max);
    let valid = logarithms(&perplexity);
    let rates = rates(last, learning_rate);

    let mut drawing = Drawing {
        svg: String::new(),
        last,
    };
    drawing.text(LEFT, 34.0, "title", title);
    drawing.text(RIGHT, 34.0, "end", &format!("after {last} updates"));

    let losses = Panel::around(94.0, 290.0, train.iter().chain(&valid), 0.06);
    drawing.frame(&losses, &perplexity_ticks(&losses));
    for nats in ticks(losses.lo, losses.hi, 6) {
        drawing.text(RIGHT + 8.0, losses.y(nats) + 4.5, "", &number(nats));
    }
    drawing.text(RIGHT + 8.0, losses.top - 14.0, "", "nats");
    let best = valid
        .iter()
        .copied()
        .reduce(|a, b| if b.value < a.value { b } else { a });
    let label = best.map(|best| lowest_label(&perplexity, best.update));
    let y = losses.top - 14.0;
    let x = drawing.legend(LEFT, y, "valid", "validation perplexity", label);
    let label = train.last().map(|point| format!("{:.3}", point.value));
    drawing.legend(x, y, "train", "training loss (right scale)", label);
    drawing.line(&losses, &train, "train");
    drawing.line(&losses, &valid, "valid");
    if let Some(best) = best {
        drawing.dot(&losses, best, "valid best", 5.0);
    }

    let scores = Panel::from_zero(440.0, 90.0, &bleu);
    drawing.frame(&scores, &with_labels(&ticks(scores.lo, scores.hi, 4)));
    let best = bleu
        .iter()
        .copied()
        .reduce(|a, b| if b.value > a.value { b } else { a });
    let label = best.map(|best| format!("best {:.1} after {}", best.value, best.update));
    drawing.legend(LEFT, scores.top - 14.0, "bleu", "validation BLEU", label);
    drawing.line(&scores, &bleu, "bleu");
    if let Some(best) = best {
        drawing.dot(&scores, best, "bleu best", 5.0);
    }

    let rate = Panel::from_zero(586.0, 40.0, &rates);
    drawing.frame(&rate, &with_labels(&ticks(rate.lo, rate.hi, 2)));
    let label = rates.last().map(|point| format!("{:.2e}", point.value));
    drawing.legend(LEFT, rate.top - 14.0, "rate", "learning rate", label);
    drawing.line(&rate, &rates, "rate");
    for update in ticks(0.0, last, 8) {
        let x = drawing.x(update);
        drawing.text(x, rate.bottom() + 20.0, "middle", &number(update));
    }
    drawing.finish(title)
}

/// Returns the learning rate at equally spaced updates from the first to the last.
fn rates(last: f64, learning_rate: impl Fn(u64) -> f64) -> Vec<Point> {
    (0..=N_RATES)
        .map(|index| 1.0 + (last - 1.0) * index as f64 / N_RATES as f64)
        .map(|update| Point {
            update,
            value: learning_rate(update.round() as u64),
        })
        .collect()
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    /// Number of updates done.
    update: f64,
    value: f64,
}

/// Parses the finite values of a metric from `metrics.csv`.
fn series(table: &str, split: &str, metric: &str) -> Vec<Point> {
    let rows = table.lines().filter_map(|row| {
        let mut columns = row.split(',');
        let update = columns.next()?.parse().ok()?;
        let matches = columns.next()? == split && columns.next()? == metric;
        let value: f64 = columns.next()?.parse().ok()?;
        (matches && value.is_finite()).then_some(Point { update, value })
    });
    rows.collect()
}

fn logarithms(points: &[Point]) -> Vec<Point> {
    let positive = points.iter().filter(|point| point.value > 0.0);
    let logarithm = |point: &Point| Point {
        value: point.value.ln(),
        ..*point
    };
    positive.map(logarithm).collect()
}

/// Returns the label of the lowest perplexity, reached after `update`.
fn lowest_label(perplexity: &[Point], update: f64) -> String {
    let best = perplexity.iter().find(|point| point.update == update);
    let value = best.map_or(f64::NAN, |best| best.value);
    format!("lowest {value:.2} after {update}")
}

/// A panel of the image with its vertical axis.
#[derive(Debug)]
struct Panel {
    top: f64,
    height: f64,
    /// Value at the bottom edge.
    lo: f64,
    /// Value at the top edge.
    hi: f64,
}

impl Panel {
    /// Creates a panel that contains all points, with a margin given as a fraction of their range.
    fn around<'a>(
        top: f64,
        height: f64,
        points: impl Iterator<Item = &'a Point> + Clone,
        margin: f64,
    ) -> Self {
        let values = points.map(|point| point.value);
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

    /// Creates a panel from zero to above all points.
    fn from_zero(top: f64, height: f64, points: &[Point]) -> Self {
        let highest = points.iter().map(|point| point.value).fold(0.0, f64::max);
        let hi = if highest > 0.0 { 1.08 * highest } else { 1.0 };
        Self {
            top,
            height,
            lo: 0.0,
            hi,
        }
    }

    fn bottom(&self) -> f64 {
        self.top + self.height
    }

    fn y(&self, value: f64) -> f64 {
        self.top + self.height * (self.hi - value) / (self.hi - self.lo)
    }
}

/// Returns about `max_ticks` or fewer multiples of 1, 2 or 5 times a power of ten between `lo` and `hi`.
fn ticks(lo: f64, hi: f64, max_ticks: usize) -> Vec<f64> {
    let raw = (hi - lo) / max_ticks as f64;
    let power = 10_f64.powf(raw.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = steps.into_iter().find(|step| *step >= raw).unwrap_or(raw);
    let first = (lo / step).ceil() as i64;
    let last = (hi / step).floor() as i64;
    (first..=last).map(|n| n as f64 * step).collect()
}

/// Returns round perplexities: their positions on the axis, in nats, and their labels.
fn perplexity_ticks(panel: &Panel) -> Vec<(f64, String)> {
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

fn with_labels(ticks: &[f64]) -> Vec<(f64, String)> {
    ticks.iter().map(|tick| (*tick, number(*tick))).collect()
}

/// Formats a round number without trailing zeros.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        small if small < 0.01 => {
            let rounded = format!("{value:.2e}");
            let (digits, power) = rounded.split_once('e').unwrap_or((&rounded, "0"));
            format!(
                "{}e{power}",
                digits.trim_end_matches('0').trim_end_matches('.')
            )
        }
        large if large >= 100.0 => format!("{value:.0}"),
        _ => {
            let rounded = format!("{value:.3}");
            rounded
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned()
        }
    }
}

/// An image under construction.
struct Drawing {
    svg: String,
    /// The update at the right edge.
    last: f64,
}

impl Drawing {
    fn x(&self, update: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * update / self.last
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.svg, "{element}");
    }

    fn text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        let text = escaped(text);
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{text}</text>"
        ));
    }

    /// Draws horizontal grid lines with labels on the left.
    fn frame(&mut self, panel: &Panel, ticks: &[(f64, String)]) {
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
    fn legend(&mut self, x: f64, y: f64, class: &str, name: &str, value: Option<String>) -> f64 {
        let value = value.unwrap_or_else(|| "none yet".to_owned());
        let cy = y - 4.5;
        self.add(format_args!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{cy:.1}\" r=\"4.5\"/>"
        ));
        let (text_x, name_svg, value_svg) = (x + 11.0, escaped(name), escaped(&value));
        self.add(format_args!(
            "<text x=\"{text_x:.1}\" y=\"{y:.1}\">{name_svg} <tspan class=\"value\">{value_svg}</tspan></text>"
        ));
        // The reader's font is unknown; this estimate leaves some room.
        text_x + 7.2 * (name.chars().count() + value.chars().count() + 1) as f64 + 22.0
    }

    fn line(&mut self, panel: &Panel, points: &[Point], class: &str) {
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

    fn dot(&mut self, panel: &Panel, point: Point, class: &str, radius: f64) {
        let (x, y) = (self.x(point.update), panel.y(point.value));
        self.add(format_args!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>"
        ));
    }

    fn finish(self, title: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
             height=\"{HEIGHT}\" role=\"img\">\n<title>{}</title>\n{STYLE}\n\
             <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n{}</svg>\n",
            escaped(title),
            self.svg
        )
    }
}

/// Escapes text for XML. Characters that XML does not allow become spaces.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\u{FFFE}' | '\u{FFFF}' => escaped.push(' '),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "update,split,metric,value\n10,train,Loss,4.0\n10,valid,Perplexity,100\n10,valid,BLEU,0\n\
                         20,train,Loss,3.0\n20,valid,Perplexity,25\n20,valid,BLEU,12.5\n20,valid,Perplexity,NaN\n";

    #[test]
    fn every_finite_value_of_the_table_is_a_point() {
        let points = series(TABLE, "valid", PERPLEXITY).into_iter();
        let points: Vec<(f64, f64)> = points.map(|point| (point.update, point.value)).collect();
        assert_eq!(points, [(10.0, 100.0), (20.0, 25.0)]);
    }

    #[test]
    fn the_legend_has_the_best_values() {
        let svg = curve(TABLE, "run", |_| 0.001);
        assert!(svg.contains("lowest 25.00 after 20<"), "{svg}");
        assert!(svg.contains("best 12.5 after 20<"), "{svg}");
    }

    #[test]
    fn the_title_is_escaped() {
        let svg = curve(TABLE, "<script>&\u{1}", |_| 0.001);
        assert!(svg.contains("&lt;script&gt;&amp; "), "{svg}");
        assert!(!svg.contains("<script"), "{svg}");
    }

    #[test]
    fn an_empty_table_gives_an_image_without_lines() {
        let svg = curve("update,split,metric,value\n", "run", |_| 0.0);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(svg.contains("none yet"), "{svg}");
    }

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
