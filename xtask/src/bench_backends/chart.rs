//! A bar chart of the speeds, as SVG.

use super::figures::Figures;
use super::results::Spread;
use super::table::rounded;

/// All sizes are in pixels.
const WIDTH: f64 = 720.0;
const MARGIN: f64 = 20.0;
/// The left edge of the bars.
const LEFT: f64 = 195.0;
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

/// The groups of bars, each on a scale of its own: the title, and the batch and beam of translations.
const PANELS: [(&str, Option<(usize, usize)>); 5] = [
    ("training, target", None),
    ("greedy, 1 sentence at once,", Some((1, 1))),
    ("beam 4, 1 sentence at once,", Some((1, 4))),
    ("greedy, 32 sentences at once,", Some((32, 1))),
    ("beam 4, 32 sentences at once,", Some((32, 4))),
];

/// Draws the medians of all columns as bars, and the ranges as lines.
///
/// The texts are names of presets, backends and processors, none of which contains markup.
pub(super) fn svg(preset: &str, machine: &str, columns: &[Figures]) -> String {
    let text = |y: f64, class: &str, text: &str| {
        format!("<text x=\"{MARGIN}\" y=\"{y}\" class=\"{class}\">{text}</text>\n")
    };
    let title = format!("Backends compared, preset {preset}");
    let mut body = text(32.0, "title", &title);
    body += &text(
        52.0,
        "quiet",
        &format!("{machine}; median, and the range of all runs"),
    );
    body += &legend(64.0, columns);
    let mut y = 80.0;
    for (title, translation) in PANELS {
        let numbers = |it: &Figures| match translation {
            None => Some(it.training.as_ref()?.tokens_per_second.clone()),
            Some((batch, beam)) => Some(it.decoding(batch, beam)?.tokens_per_second.clone()),
        };
        let bars = columns
            .iter()
            .filter_map(|it| Some((it, Spread::of(&numbers(it)?)?)));
        let bars: Vec<(&Figures, Spread)> = bars.collect();
        let max = bars.iter().map(|(_, it)| it.max).fold(0.0, f64::max);
        if max <= 0.0 {
            continue;
        }
        body += &text(y + 22.0, "panel", &format!("{title} tokens a second"));
        y += 30.0;
        for (figures, spread) in bars {
            body += &bar(y, figures, spread, (WIDTH - MARGIN - LEFT - VALUE) / max);
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
fn legend(y: f64, columns: &[Figures]) -> String {
    let entries = [
        ("ours", "ours"),
        ("peer", "other programs"),
        ("ours software", "ours, on a GPU that the CPU emulates"),
        ("peer software", "other programs, on an emulated GPU"),
    ];
    let (mut x, mut legend) = (MARGIN, String::new());
    for (class, name) in entries {
        if columns.iter().any(|it| class_of(it) == class) {
            let (text, baseline) = (x + 20.0, y + 11.0);
            legend += &format!(
                "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"14\" height=\"12\"/>\
                 <text x=\"{text}\" y=\"{baseline}\">{name}</text>\n"
            );
            x = text + 7.2 * name.len() as f64 + 18.0;
        }
    }
    legend
}

fn class_of(figures: &Figures) -> &'static str {
    match (figures.is_peer(), figures.is_emulated()) {
        (false, false) => "ours",
        (false, true) => "ours software",
        (true, false) => "peer",
        (true, true) => "peer software",
    }
}

fn bar(y: f64, figures: &Figures, spread: Spread, scale: f64) -> String {
    let (class, name) = (class_of(figures), &figures.backend);
    let hardware = match (figures.is_emulated(), figures.is_on_gpu()) {
        (true, _) => "emulated GPU",
        (false, false) => "CPU",
        (false, true) => "GPU",
    };
    let [min, median, max] = [spread.min, spread.median, spread.max].map(|number| number * scale);
    let (middle, baseline) = (y + BAR / 2.0, y + BAR - 3.5);
    let [label, start, end, after] = [LEFT - 8.0, LEFT + min, LEFT + max, LEFT + max + 6.0];
    let value = rounded(spread.median);
    format!(
        "<text x=\"{label:.1}\" y=\"{baseline}\" text-anchor=\"end\">{name} \
         <tspan class=\"quiet\">{hardware}</tspan></text>\
         <rect class=\"{class}\" x=\"{LEFT}\" y=\"{y}\" width=\"{median:.1}\" height=\"{BAR}\" rx=\"2\"/>\
         <line class=\"spread\" x1=\"{start:.1}\" x2=\"{end:.1}\" y1=\"{middle}\" y2=\"{middle}\"/>\
         <text x=\"{after:.1}\" y=\"{baseline}\">{value}</text>\n"
    )
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
