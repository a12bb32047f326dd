//! One map as an SVG figure, for papers and slides.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

use super::{Attention, AttentionError, GENERATOR, Head, Map, Selection, Token, View};
use crate::xml::escape_xml;

/// Height of a row of tokens, in pixels.
const ROW: f32 = 22.0;

/// Estimated width of a character, in pixels; a little wide, because the reader's font is unknown.
const CHARACTER: f32 = 7.8;

/// Space around the figure, and between labels and cells or lines, in pixels.
const MARGIN: f32 = 12.0;
const GAP: f32 = 8.0;

/// Width of the space between the two columns of the lines view, in pixels.
const FIELD: f32 = 220.0;

/// Lines with a lower weight are not drawn, because they would be nearly invisible.
const FAINT: f32 = 0.01;

/// Colors of the weights 0, ¼ and 1, with interpolation between them; the same as on the page.
const RAMP: [[f32; 3]; 3] = [
    [238.0, 242.0, 248.0],
    [76.0, 139.0, 214.0],
    [12.0, 36.0, 97.0],
];

/// Draws one map as an SVG file on a white background.
///
/// # Errors
///
/// Returns an [`AttentionError`] if there is no such layer or no such head.
pub fn figure(attention: &Attention, selection: Selection) -> Result<String, AttentionError> {
    let Selection {
        kind,
        layer_head,
        view,
    } = selection;
    let map = layer_head.map(attention, kind)?;
    let layer = layer_head.layer_of(attention, kind)?;
    let (rows, columns) = (
        labels(&attention.rows(kind)),
        labels(&attention.columns(kind)),
    );
    let head = match layer_head.head {
        Head::Mean => "mean of all heads".to_owned(),
        Head::One(head) => format!("head {head}"),
    };
    let title = format!("{kind} attention, layer {layer}, {head}: {}", attention.src);
    let drawn = match view {
        View::HeatMap => draw_map(&map, &rows, &columns),
        View::Lines => draw_lines(&map, &rows, &columns),
    };
    Ok(drawn.done(&title))
}

/// A figure while it is drawn.
#[derive(Debug, Default)]
struct Drawing {
    body: String,
    width: f32,
    height: f32,
}

/// A token as it is drawn.
#[derive(Debug)]
struct Label {
    svg: String,
    width: f32,
}

fn labels(tokens: &[Token]) -> Vec<Label> {
    tokens.iter().map(label).collect()
}

fn label(token: &Token) -> Label {
    let spelled = if token.text.trim().is_empty() {
        "␣"
    } else {
        token.text.as_str()
    };
    let svg = match spelled.strip_prefix('▁') {
        Some(rest) => format!("<tspan fill=\"#9aa4b2\">▁</tspan>{}", escape_xml(rest)),
        None => escape_xml(spelled),
    };
    Label {
        svg,
        width: spelled.width() as f32 * CHARACTER,
    }
}

fn widest(labels: &[Label]) -> f32 {
    labels.iter().map(|label| label.width).fold(0.0, f32::max)
}

fn draw_map(map: &Map, rows: &[Label], columns: &[Label]) -> Drawing {
    let left = MARGIN + widest(rows) + GAP;
    let top = MARGIN + widest(columns) + GAP;
    let bottom = top + ROW * rows.len() as f32;
    let mut drawing = Drawing {
        width: left + (ROW * columns.len() as f32).max(5.0 * 62.0) + MARGIN,
        height: bottom + 48.0 + MARGIN,
        ..Drawing::default()
    };
    for (row, label) in rows.iter().enumerate() {
        drawing.text(
            left - GAP,
            top + ROW * (row as f32 + 0.5),
            "end",
            &label.svg,
        );
    }
    for (column, label) in columns.iter().enumerate() {
        let x = left + ROW * (column as f32 + 0.5);
        drawing.upwards(x, top - GAP, &label.svg);
    }
    for (row, weights) in map.iter().enumerate() {
        for (column, weight) in weights.iter().enumerate() {
            let (x, y) = (left + ROW * column as f32, top + ROW * row as f32);
            drawing.cell(x, y, *weight);
        }
    }
    for (index, weight) in [0.0, 0.05, 0.25, 0.5, 1.0].into_iter().enumerate() {
        let (x, y) = (left + 62.0 * index as f32, bottom + 26.0);
        drawing.cell(x, y, weight);
        drawing.text(x + ROW + 3.0, y + ROW / 2.0, "start", &weight.to_string());
    }
    drawing
}

fn draw_lines(map: &Map, rows: &[Label], columns: &[Label]) -> Drawing {
    let left = MARGIN + widest(rows) + GAP;
    let right = left + FIELD;
    let n_lines = rows.len().max(columns.len()) as f32;
    let mut drawing = Drawing {
        width: right + GAP + widest(columns) + MARGIN,
        height: 2.0 * MARGIN + ROW * n_lines,
        ..Drawing::default()
    };
    // The shorter column is centered beside the longer one.
    let y_of =
        |index: usize, n: usize| MARGIN + ROW * (index as f32 + 0.5 + (n_lines - n as f32) / 2.0);
    for (row, weights) in map.iter().enumerate() {
        for (column, weight) in weights
            .iter()
            .enumerate()
            .filter(|(_, weight)| **weight >= FAINT)
        {
            let (start, end) = (y_of(row, rows.len()), y_of(column, columns.len()));
            drawing.line([left, start], [right, end], *weight);
        }
    }
    for (row, label) in rows.iter().enumerate() {
        drawing.text(left - GAP, y_of(row, rows.len()), "end", &label.svg);
    }
    for (column, label) in columns.iter().enumerate() {
        drawing.text(
            right + GAP,
            y_of(column, columns.len()),
            "start",
            &label.svg,
        );
    }
    drawing
}

impl Drawing {
    fn text(&mut self, x: f32, y: f32, anchor: &str, svg: &str) {
        let geometry = format!("x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\"");
        self.add(&format!(
            "<text {geometry} dominant-baseline=\"central\">{svg}</text>"
        ));
    }

    fn upwards(&mut self, x: f32, y: f32, svg: &str) {
        let geometry = format!("transform=\"translate({x} {y}) rotate(-90)\"");
        self.add(&format!(
            "<text {geometry} dominant-baseline=\"central\">{svg}</text>"
        ));
    }

    fn cell(&mut self, x: f32, y: f32, weight: f32) {
        let size = ROW - 1.0;
        let geometry = format!("x=\"{x}\" y=\"{y}\" width=\"{size}\" height=\"{size}\"");
        self.add(&format!(
            "<rect {geometry} rx=\"2\" fill=\"{}\"/>",
            color(weight)
        ));
    }

    fn line(&mut self, start: [f32; 2], end: [f32; 2], weight: f32) {
        let [[x1, y1], [x2, y2]] = [start, end];
        let geometry = format!("x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"");
        let stroke = "stroke=\"#2459a9\" stroke-width=\"2.4\"";
        self.add(&format!(
            "<line {geometry} {stroke} stroke-opacity=\"{weight:.3}\"/>"
        ));
    }

    fn add(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    fn done(self, title: &str) -> String {
        let Self {
            body,
            width,
            height,
        } = self;
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

/// Returns the color of a weight. The scale is the square root, which makes small weights visible.
fn color(weight: f32) -> String {
    let position = weight.clamp(0.0, 1.0).sqrt() * 2.0;
    let (from, to) = if position < 1.0 {
        (RAMP[0], RAMP[1])
    } else {
        (RAMP[1], RAMP[2])
    };
    let share = if position < 1.0 {
        position
    } else {
        position - 1.0
    };
    let mut color = String::from("#");
    for (from, to) in from.iter().zip(to) {
        let _ = write!(color, "{:02x}", (from + (to - from) * share).round() as u8);
    }
    color
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attention::{Kind, LayerHead};

    fn attention(words: [&str; 2], row: [f32; 2]) -> Attention {
        let token = |word: &str| Token {
            text: word.to_owned(),
            id: 4,
            word: Some(0),
        };
        Attention {
            src: words.join(" "),
            tgt: words[0].to_owned(),
            src_tokens: words.map(token).into(),
            tgt_tokens: vec![token(words[0])],
            encoder: Vec::new(),
            decoder: Vec::new(),
            cross: vec![vec![vec![row.to_vec()]]],
        }
    }

    fn drawn(attention: &Attention, view: View) -> String {
        let selection = Selection {
            kind: Kind::Cross,
            layer_head: LayerHead::default(),
            view,
        };
        figure(attention, selection).expect("there is one layer")
    }

    #[test]
    fn the_opacity_of_a_line_is_its_weight() {
        let svg = drawn(&attention(["a", "b"], [0.75, 0.25]), View::Lines);
        assert!(svg.contains("stroke-opacity=\"0.750\""), "{svg}");
        assert!(svg.contains("stroke-opacity=\"0.250\""), "{svg}");
        assert_eq!(svg.matches("<line").count(), 2);
    }

    #[test]
    fn invisible_lines_are_not_drawn() {
        let svg = drawn(&attention(["a", "b"], [0.995, 0.005]), View::Lines);
        assert_eq!(svg.matches("<line").count(), 1);
    }

    #[test]
    fn the_weights_of_the_ramp_have_its_colors() {
        assert_eq!(
            (color(0.0), color(0.25), color(1.0)),
            ("#eef2f8".into(), "#4c8bd6".into(), "#0c2461".into())
        );
    }

    #[test]
    fn tokens_that_look_like_markup_stay_text() {
        for view in [View::HeatMap, View::Lines] {
            let nasty = drawn(&attention(["</text><script>&", "\u{1}"], [0.6, 0.4]), view);
            let plain = drawn(&attention(["a", "b"], [0.6, 0.4]), view);
            assert!(
                nasty.contains("&lt;/text&gt;&lt;script&gt;&amp;"),
                "{nasty}"
            );
            assert_eq!(nasty.matches('<').count(), plain.matches('<').count());
            assert!(!nasty.contains('\u{1}'));
        }
    }
}
