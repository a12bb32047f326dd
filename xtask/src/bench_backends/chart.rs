//! A bar chart of the speeds, as SVG.

use std::fmt::Write;

use super::figures::{Figures, Kind, Spread};
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
    ("beam 4, 1 sentence at once, tokens a second", |it| {
        speed(it, 1, 4)
    }),
    ("greedy, 32 sentences at once, tokens a second", |it| {
        speed(it, 32, 1)
    }),
    ("beam 4, 32 sentences at once, tokens a second", |it| {
        speed(it, 32, 4)
    }),
];

/// All sizes are in pixels.
const WIDTH: f64 = 720.0;
const MARGIN: f64 = 20.0;
const LABEL: f64 = 175.0;
const VALUE: f64 = 70.0;
const BAR: f64 = 16.0;
const STEP: f64 = 22.0;

const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#1c2430}\
.title{font-weight:600;font-size:15px}.panel{font-weight:600}.quiet{fill:#5b6675}\
.ours{fill:#2f6fbf}.peer{fill:#b0700f}.software{fill-opacity:.35;stroke-width:1.5;stroke-dasharray:4 2}\
.ours.software{stroke:#2f6fbf}.peer.software{stroke:#b0700f}.spread{stroke:#0c2461;stroke-width:1.5}.back{fill:#fff}\
@media(prefers-color-scheme:dark){text{fill:#e6ebf2}.quiet{fill:#9aa6b6}.ours{fill:#4c8bd6}\
.peer{fill:#d99a3a}.ours.software{stroke:#4c8bd6}.peer.software{stroke:#d99a3a}.spread{stroke:#dbe7f7}.back{fill:#141a22}}";

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
    y += 12.0;
    draw_legend(&mut body, y, columns);
    y += 16.0;
    for (title, numbers) in PANELS {
        let bars: Vec<(&Figures, Spread)> = columns
            .iter()
            .filter_map(|it| Some((it, Spread::of(numbers(it)?)?)))
            .collect();
        let max = bars.iter().map(|(_, it)| it.max).fold(0.0, f64::max);
        if max <= 0.0 {
            continue;
        }
        y += 22.0;
        line(&mut body, y, "panel", title);
        y += 8.0;
        let scale = (WIDTH - 2.0 * MARGIN - LABEL - VALUE) / max;
        for (figures, spread) in bars {
            draw_bar(&mut body, y, figures, spread, scale);
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

/// Draws which bars are ours, and which computed on a GPU that the processor emulates, if there are such.
fn draw_legend(body: &mut String, y: f64, columns: &[Figures]) {
    let has = |class: &str| columns.iter().any(|it| class_of(it) == class);
    let entries = [
        ("ours", "ours"),
        ("peer", "other programs"),
        ("ours software", "ours, on a GPU that the CPU emulates"),
        ("peer software", "other programs, on an emulated GPU"),
    ];
    let mut x = MARGIN;
    for (class, name) in entries.into_iter().filter(|(class, _)| has(class)) {
        let text = x + 20.0;
        let _ = writeln!(
            body,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"14\" height=\"12\"/>\
             <text x=\"{text}\" y=\"{}\">{name}</text>",
            y + 11.0
        );
        x = text + 7.2 * name.len() as f64 + 18.0;
    }
}

/// Returns the classes of a bar.
fn class_of(figures: &Figures) -> &'static str {
    match (figures.is_peer(), figures.is_emulated()) {
        (false, false) => "ours",
        (false, true) => "ours software",
        (true, false) => "peer",
        (true, true) => "peer software",
    }
}

fn draw_bar(body: &mut String, y: f64, figures: &Figures, spread: Spread, scale: f64) {
    let left = MARGIN + LABEL;
    let (class, name) = (class_of(figures), &figures.backend);
    let hardware = match (figures.is_emulated(), figures.kind()) {
        (true, _) => "emulated GPU",
        (false, Kind::Cpu) => "CPU",
        (false, Kind::Gpu) => "GPU",
    };
    let [min, median, max] = [spread.min, spread.median, spread.max].map(|number| number * scale);
    let (middle, text) = (y + BAR / 2.0, y + BAR - 3.5);
    let _ = writeln!(
        body,
        "<text x=\"{:.1}\" y=\"{text}\" text-anchor=\"end\">{name} <tspan class=\"quiet\">{hardware}</tspan></text>\
         <rect class=\"{class}\" x=\"{left}\" y=\"{y}\" width=\"{median:.1}\" height=\"{BAR}\" rx=\"2\"/>\
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
        let bars = svg
            .split(" rx=\"2\"")
            .map(|it| it.rsplit('<').next().unwrap_or_default());
        let bars = bars.filter(|it| it.starts_with("rect class=\"ours\" x"));
        let width = |bar: &str| {
            bar.split(" width=\"")
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
    fn the_legend_tells_ours_from_others_and_hardware_from_its_emulation() {
        let emulated = Figures {
            device: Some("llvmpipe (LLVM 19)".to_owned()),
            ..column("wgpu", 2.0)
        };
        let svg = svg("tiny", "2 cores", &[emulated, column("pytorch", 3.0)]);
        assert!(svg.contains("class=\"ours software\""), "{svg}");
        assert!(svg.contains("class=\"peer\""), "{svg}");
        assert!(
            svg.contains(">ours, on a GPU that the CPU emulates<"),
            "{svg}"
        );
        assert!(
            !svg.contains(">ours<"),
            "nothing else of ours is drawn: {svg}"
        );
    }

    #[test]
    fn a_missing_figure_has_no_bar() {
        let svg = svg("tiny", "2 cores", &[Figures::missing("cuda", "no driver")]);
        assert_eq!(widths(&svg), [0.0_f64; 0]);
        assert!(svg.contains("2 cores"));
    }
}
