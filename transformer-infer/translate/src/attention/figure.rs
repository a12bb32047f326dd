//! One map as an SVG figure, for papers and slides.

use transformer_core::text::escape_xml;
use unicode_width::UnicodeWidthStr;

use super::drawing::{Drawing, GAP, MARGIN, ROW, color_of_head, color_of_weight};
use super::{Attention, ColorScale, Head, Kind, Map, Selection, Token, View};
use crate::TranslatorError;

/// Estimated width of a character, in pixels; a little wide, because the reader's font is unknown.
const CHARACTER: f32 = 7.8;

/// Height of the title, and of the names of the two sides, in pixels.
const TITLE: f32 = 34.0;
const SIDE: f32 = 20.0;

/// Width of the space between the two columns of the lines view, in pixels.
const FIELD: f32 = 220.0;

/// Width of an entry of a legend, in pixels.
const ENTRY: f32 = 62.0;

/// The color of lines if they are all of one head.
const ONE_COLOR: &str = "#2459a9";

/// Lines with a lower weight are not drawn, because they would be nearly invisible.
const FAINT: f32 = 0.01;

/// Draws one map as an SVG file on a white background, with a title, the names of both sides and a legend.
///
/// The tokenizer's marks at the start of words are left out.
///
/// # Errors
///
/// Returns a [`TranslatorError`] if the layer or the head does not exist.
pub fn figure(attention: &Attention, selection: Selection) -> Result<String, TranslatorError> {
    let (kind, layer_head) = (selection.kind, selection.layer_head);
    let map = layer_head.map(attention, kind)?;
    let layer = layer_head.layer_of(attention, kind)?;
    let layers = attention.layers(kind);
    let heads = &layers[layer - 1];
    let head = match (layer_head.head, selection.view) {
        (Head::Mean, View::HeadLines) => format!("all {} heads", heads.len()),
        (Head::Mean, _) => "mean of all heads".to_owned(),
        (Head::One(head), _) => format!("head {head}"),
    };
    let name = match kind {
        Kind::Encoder => "Encoder self-attention",
        Kind::Decoder => "Decoder self-attention",
        Kind::Cross => "Cross-attention",
    };
    let sides = Sides::new(attention, kind);
    let mut drawing = match selection.view {
        View::HeatMap => draw_map(&map, &sides, selection.scale),
        View::Lines => draw_lines(&[(&map, ONE_COLOR.to_owned())], &sides),
        View::HeadLines => {
            let all = (1..).zip(heads);
            let shown = all.filter(|(head, _)| match layer_head.head {
                Head::Mean => true,
                Head::One(one) => *head == one,
            });
            let color = |head: usize| color_of_head(head, heads.len());
            let maps: Vec<_> = shown.map(|(head, map)| (map, color(head))).collect();
            let mut drawing = draw_lines(&maps, &sides);
            if layer_head.head == Head::Mean {
                draw_heads(&mut drawing, &maps);
            }
            drawing
        }
    };
    drawing.title(&format!(
        "{name}, layer {layer} of {}, {head}",
        layers.len()
    ));
    Ok(drawing.done(&format!(
        "{kind} attention, layer {layer}, {head}: {}",
        attention.src
    )))
}

#[derive(Debug)]
struct Sides {
    rows: Vec<Label>,
    columns: Vec<Label>,
    names: [&'static str; 2],
}

#[derive(Debug)]
struct Label {
    svg: String,
    width: f32,
}

impl Sides {
    fn new(attention: &Attention, kind: Kind) -> Self {
        let labels = |tokens: Vec<Token>| tokens.iter().map(label).collect();
        Self {
            rows: labels(attention.rows(kind)),
            columns: labels(attention.columns(kind)),
            names: match kind {
                Kind::Encoder => ["source (queries)", "source (keys)"],
                Kind::Decoder => ["output, generated (queries)", "output, read (keys)"],
                Kind::Cross => ["output (queries)", "source (keys)"],
            },
        }
    }
}

fn label(token: &Token) -> Label {
    let spelled = token.text.strip_prefix('▁').unwrap_or(&token.text);
    let spelled = match spelled.trim().is_empty() {
        true => "␣".to_owned(),
        false => spelled.replace('▁', " "),
    };
    Label {
        svg: escape_xml(&spelled),
        width: spelled.width() as f32 * CHARACTER,
    }
}

fn widest(labels: &[Label]) -> f32 {
    labels.iter().map(|label| label.width).fold(0.0, f32::max)
}

fn draw_map(map: &Map, sides: &Sides, scale: ColorScale) -> Drawing {
    let [row_name, column_name] = sides.names;
    let (rows, columns) = (&sides.rows, &sides.columns);
    let left = MARGIN + SIDE + widest(rows) + GAP;
    let top = MARGIN + TITLE + SIDE + widest(columns) + GAP;
    let right = left + ROW * columns.len() as f32;
    let bottom = top + ROW * rows.len() as f32;
    // The name of the rows is written upwards, and may be longer than the rows.
    let name_height = row_name.width() as f32 * CHARACTER;
    let middle = f32::midpoint(top, bottom).max(MARGIN + TITLE + name_height / 2.0);
    let bottom = bottom.max(middle + name_height / 2.0);
    let mut drawing = Drawing::new(right.max(left + 5.0 * ENTRY), bottom + 62.0);
    drawing.text(left, MARGIN + TITLE + 6.0, "start", column_name);
    drawing.upwards(MARGIN + 6.0, middle, "middle", row_name);
    for (row, label) in rows.iter().enumerate() {
        let y = top + ROW * (row as f32 + 0.5);
        drawing.text(left - GAP, y, "end", &label.svg);
    }
    for (column, label) in columns.iter().enumerate() {
        let x = left + ROW * (column as f32 + 0.5);
        drawing.upwards(x, top - GAP, "start", &label.svg);
    }
    for (row, weights) in map.iter().enumerate() {
        for (column, weight) in weights.iter().enumerate() {
            let (x, y) = (left + ROW * column as f32, top + ROW * row as f32);
            drawing.cell(x, y, &color_of_weight(*weight, scale));
        }
    }
    let note = match scale {
        ColorScale::Root => "weight; colors by its square root",
        ColorScale::Linear => "weight; colors in proportion",
    };
    drawing.text(left, bottom + 20.0, "start", note);
    for (index, weight) in scale.marks().into_iter().enumerate() {
        let (x, y) = (left + ENTRY * index as f32, bottom + 34.0);
        drawing.cell(x, y, &color_of_weight(weight, scale));
        drawing.text(x + ROW + 3.0, y + ROW / 2.0, "start", &weight.to_string());
    }
    drawing
}

fn draw_lines(maps: &[(&Map, String)], sides: &Sides) -> Drawing {
    let [row_name, column_name] = sides.names;
    let (rows, columns) = (&sides.rows, &sides.columns);
    let wide = |labels: &[Label], name: &str| widest(labels).max(name.width() as f32 * CHARACTER);
    let left = MARGIN + wide(rows, row_name) + GAP;
    let right = left + FIELD;
    let n_lines = rows.len().max(columns.len()) as f32;
    let top = MARGIN + TITLE + SIDE + GAP;
    let width = right + GAP + wide(columns, column_name);
    let mut drawing = Drawing::new(width, top + ROW * n_lines);
    // The shorter column is centered beside the longer one.
    let y_of =
        |index: usize, n: usize| top + ROW * (index as f32 + 0.5 + (n_lines - n as f32) / 2.0);
    for (at, (map, color)) in maps.iter().enumerate() {
        // Lines of several heads are beside each other.
        let shift =
            (at as f32 - (maps.len() - 1) as f32 / 2.0) * (0.6 * ROW / maps.len() as f32).min(2.0);
        for (row, weights) in map.iter().enumerate() {
            let weights = weights.iter().enumerate();
            for (column, weight) in weights.filter(|(_, weight)| **weight >= FAINT) {
                let (start, end) = (y_of(row, rows.len()), y_of(column, columns.len()));
                drawing.line([left, start + shift], [right, end + shift], color, *weight);
            }
        }
    }
    drawing.text(left - GAP, MARGIN + TITLE + 6.0, "end", row_name);
    drawing.text(right + GAP, MARGIN + TITLE + 6.0, "start", column_name);
    for (row, label) in rows.iter().enumerate() {
        drawing.text(left - GAP, y_of(row, rows.len()), "end", &label.svg);
    }
    for (column, label) in columns.iter().enumerate() {
        let y = y_of(column, columns.len());
        drawing.text(right + GAP, y, "start", &label.svg);
    }
    drawing
}

/// Draws the legend of all heads below the lines.
fn draw_heads(drawing: &mut Drawing, maps: &[(&Map, String)]) {
    const WIDTH: f32 = 84.0;
    let per_row = ((drawing.width - 2.0 * MARGIN) / WIDTH).floor().max(1.0) as usize;
    let top = drawing.height + GAP;
    for (index, (_, color)) in maps.iter().enumerate() {
        let x = MARGIN + WIDTH * (index % per_row) as f32;
        let y = top + ROW * ((index / per_row) as f32 + 0.5);
        drawing.line([x, y], [x + 18.0, y], color, 1.0);
        drawing.text(x + 24.0, y, "start", &format!("head {}", index + 1));
    }
    drawing.height = top + ROW * maps.len().div_ceil(per_row) as f32;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attention::LayerHead;

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
            scale: ColorScale::default(),
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
    fn a_figure_names_its_kind_layer_head_and_sides() {
        let svg = drawn(&attention(["a", "b"], [0.75, 0.25]), View::HeatMap);
        for text in [
            ">Cross-attention, layer 1 of 1, mean of all heads<",
            ">output (queries)<",
            ">source (keys)<",
        ] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
    }

    #[test]
    fn the_legend_of_a_map_names_the_scale_of_its_colors() {
        let attention = attention(["a", "b"], [0.75, 0.25]);
        let drawn = |scale| {
            let selection = Selection {
                scale,
                ..Selection::default()
            };
            figure(&attention, selection).expect("there is one layer")
        };
        assert!(drawn(ColorScale::Root).contains(">weight; colors by its square root<"));
        assert!(drawn(ColorScale::Linear).contains(">weight; colors in proportion<"));
    }

    #[test]
    fn marks_of_word_starts_are_left_out() {
        let svg = drawn(&attention(["▁a", "▁"], [0.75, 0.25]), View::Lines);
        let mut texts = svg.lines().filter(|line| line.starts_with("<text"));
        assert!(!texts.any(|text| text.contains('▁')), "{svg}");
        assert!(svg.contains(">a<") && svg.contains(">␣<"), "{svg}");
    }

    #[test]
    fn each_head_has_lines_of_its_color() {
        let mut attention = attention(["a", "b"], [0.75, 0.25]);
        attention.cross[0].push(vec![vec![1.0, 0.0]]);
        let svg = drawn(&attention, View::HeadLines);
        for (head, n_lines) in [(1, 2), (2, 1)] {
            // One line more is in the legend.
            let stroke = format!("stroke=\"{}\"", color_of_head(head, 2));
            assert_eq!(svg.matches(&stroke).count(), n_lines + 1, "{svg}");
        }
        assert!(svg.contains("all 2 heads"), "{svg}");
    }

    #[test]
    fn tokens_that_look_like_markup_stay_text() {
        for view in [View::HeatMap, View::Lines, View::HeadLines] {
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
