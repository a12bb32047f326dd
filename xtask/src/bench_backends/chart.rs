//! A bar chart of the speeds, as SVG.

use std::fmt::Write;

use super::figures::{Figures, Spread};
use super::table::rounded;

/// A group of bars on one scale: its title, and the values of a column.
type Panel = (&'static str, fn(&Figures) -> Option<&[f64]>);

const PANELS: [Panel; 5] = [
    ("training, target tokens a second", |it| {
        Some(&it.training.as_ref()?.tokens_per_second)
    }),
    ("greedy, 1 sentence at once, tokens a second", |it| {
        speed(it, 1, 1)
    }),
    ("beam 4, 1 sentence at once", |it| speed(it, 1, 4)),
    ("greedy, 32 sentences at once", |it| speed(it, 32, 1)),
    ("beam 4, 32 sentences at once", |it| speed(it, 32, 4)),
];

/// All sizes are in pixels.
const WIDTH: f64 = 720.0;
const MARGIN: f64 = 20.0;
const LABEL: f64 = 120.0;
const VALUE: f64 = 70.0;
const BAR: f64 = 16.0;
const STEP: f64 = 22.0;

const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#1c2430}\
.title{font-weight:600;font-size:15px}.panel{font-weight:600}.quiet{fill:#5b6675}\
.bar{fill:#2f6fbf}.spread{stroke:#0c2461;stroke-width:1.5}.back{fill:#fff}\
@media(prefers-color-scheme:dark){text{fill:#e6ebf2}.quiet{fill:#9aa6b6}.bar{fill:#4c8bd6}\
.spread{stroke:#dbe7f7}.back{fill:#141a22}}";

/// Draws the medians of all columns as bars, and the ranges as lines.
///
/// The texts are names of presets, backends and processors, none of which contains markup.
pub(super) fn svg(preset: &str, machine: &str, columns: &[Figures]) -> String {
    let mut body = String::new();
    let mut y = MARGIN + 12.0;
    let line = |body: &mut String, y: f64, class: &str, text: &str| {
        let _ = writeln!(
            body,
            r#"<text x="{MARGIN}" y="{y}" class="{class}">{text}</text>"#
        );
    };
    line(
        &mut body,
        y,
        "title",
        &format!("Backends compared, preset {preset}"),
    );
    y += 20.0;
    line(
        &mut body,
        y,
        "quiet",
        &format!("{machine}; median, and the range of all runs"),
    );
    y += 14.0;
    for (title, numbers) in PANELS {
        let bars: Vec<(&str, Spread)> = columns
            .iter()
            .filter_map(|it| Some((it.backend.as_str(), Spread::of(numbers(it)?)?)))
            .collect();
        let max = bars.iter().map(|(_, it)| it.max).fold(0.0, f64::max);
        if max <= 0.0 {
            continue;
        }
        y += 22.0;
        line(&mut body, y, "panel", title);
        y += 8.0;
        let scale = (WIDTH - 2.0 * MARGIN - LABEL - VALUE) / max;
        for (name, spread) in bars {
            draw_bar(&mut body, y, name, spread, scale);
            y += STEP;
        }
    }
    let height = y + MARGIN;
    let title = format!("Speed of the backends, preset {preset}");
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\" aria-label=\"{title}\">\n<style>{STYLE}</style>\n\
         <rect class=\"back\" width=\"{WIDTH}\" height=\"{height}\"/>\n{body}</svg>\n"
    )
}

fn draw_bar(body: &mut String, y: f64, name: &str, spread: Spread, scale: f64) {
    let left = MARGIN + LABEL;
    let [min, median, max] = [spread.min, spread.median, spread.max].map(|number| number * scale);
    let (middle, text) = (y + BAR / 2.0, y + BAR - 3.5);
    let _ = writeln!(
        body,
        "<text x=\"{:.1}\" y=\"{text}\" text-anchor=\"end\">{name}</text>\
         <rect class=\"bar\" x=\"{left}\" y=\"{y}\" width=\"{median:.1}\" height=\"{BAR}\" rx=\"2\"/>\
         <line class=\"spread\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{middle}\" y2=\"{middle}\"/>\
         <text x=\"{:.1}\" y=\"{text}\">{}</text>",
        left - 8.0,
        left + min,
        left + max,
        left + max + 6.0,
        rounded(spread.median),
    );
}

fn speed(figures: &Figures, batch: u32, beam: u32) -> Option<&[f64]> {
    Some(&figures.decoding(batch, beam)?.tokens_per_second)
}

#[cfg(test)]
mod tests {
    use super::super::figures::Decoding;
    use super::*;

    fn column(backend: &str, speed: f64) -> Figures {
        Figures {
            backend: backend.to_owned(),
            decoding: vec![Decoding {
                batch: 1,
                beam: 1,
                tokens_per_second: vec![speed],
                first_token_ms: vec![1.0],
            }],
            ..Figures::default()
        }
    }

    /// Returns the widths of all bars.
    fn widths(svg: &str) -> Vec<f64> {
        let bars = svg.split("class=\"bar\"").skip(1);
        let width = |bar: &str| {
            bar.split("width=\"")
                .nth(1)?
                .split('"')
                .next()?
                .parse()
                .ok()
        };
        bars.filter_map(width).collect()
    }

    #[test]
    fn the_length_of_a_bar_is_proportional_to_the_speed() {
        let svg = svg(
            "tiny",
            "2 cores",
            &[column("flex", 100.0), column("tch", 50.0)],
        );
        let [flex, tch] = widths(&svg)[..] else {
            panic!("two bars are expected: {svg}");
        };
        assert!((flex - 2.0 * tch).abs() < 0.2, "{flex} {tch}");
    }

    #[test]
    fn a_missing_figure_has_no_bar() {
        let svg = svg("tiny", "2 cores", &[Figures::missing("cuda", "no driver")]);
        assert_eq!(widths(&svg), [0.0_f64; 0]);
        assert!(svg.contains("2 cores"));
    }
}
