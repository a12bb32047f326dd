//! `cargo run -p examples --example positions_and_masks`: draws the positional encoding and the masks as two pictures.
//!
//! `positions.svg` is the sinusoidal encoding (§3.5), `masks.svg` shows the keys that each mask hides. The values come
//! from transformer-core. The pictures are written to `runs/pictures`, or to the folder given as argument.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result};
use burn::tensor::Device;
use transformer_core::model::sinusoids;
use transformer_core::{Mask, Padded, device};

const N_POSITIONS: usize = 100;
const D_MODEL: usize = 128;
/// Tones between −1 and 1.
const N_TONES: usize = 21;
/// Length of the masked sequences, in tokens.
const LEN: usize = 8;
/// The inputs of the encoder and of the decoder.
const SRC: [&str; LEN] = [
    "a", "black", "dog", "barks", "</s>", "<pad>", "<pad>", "<pad>",
];
const TGT: [&str; LEN] = [
    "<s>",
    "ein",
    "schwarzer",
    "Hund",
    "bellt",
    "<pad>",
    "<pad>",
    "<pad>",
];

/// Dark on light, or light on dark if the reader's system is set to that.
const STYLE: &str = "<style>text{font:13px sans-serif;fill:#24292f}.title{font-size:17px;font-weight:600}\
.head{font-weight:600}.small{font-size:11px}.middle{text-anchor:middle}.end{text-anchor:end}\
.page{fill:#fff}.seen{fill:#2f74c0}.hidden{fill:#d8dee4}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#0d1117}.seen{fill:#58a6ff}\
.hidden{fill:#30363d}}</style>";

fn main() -> Result<()> {
    let folder = env::args_os()
        .nth(1)
        .map_or_else(|| PathBuf::from("runs/pictures"), PathBuf::from);
    let requested = env::var("BURN_DEVICE").ok();
    let (_, device) = device::choose(requested.as_deref())?;
    fs::create_dir_all(&folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
    write(&folder.join("positions.svg"), &positions(&device))?;
    write(&folder.join("masks.svg"), &masks(&device))
}

fn write(path: &Path, svg: &str) -> Result<()> {
    fs::write(path, svg).with_context(|| format!("cannot write `{}`", path.display()))?;
    println!("{}: {} KB", path.display(), svg.len().div_ceil(1000));
    Ok(())
}

/// Draws the encoding as a heat map: a row for each position, a column for each feature.
fn positions(device: &Device) -> String {
    let vectors = sinusoids(0, N_POSITIONS, D_MODEL, device); // [len, d_model]
    let values: Vec<f32> = vectors.into_data().iter::<f32>().collect();
    let tone = |position: usize, feature: usize| {
        ((values[position * D_MODEL + feature] + 1.0) / 2.0 * (N_TONES - 1) as f32).round() as usize
    };
    // One path for each tone. It joins neighboring positions of the same tone: most features change slowly.
    let mut paths = vec![String::new(); N_TONES];
    for feature in 0..D_MODEL {
        let mut start = 0;
        for position in 1..=N_POSITIONS {
            if position == N_POSITIONS || tone(position, feature) != tone(start, feature) {
                let height = position - start;
                paths[tone(start, feature)] += &format!("M{feature} {start}v{height}h1v-{height}z");
                start = position;
            }
        }
    }
    let mut svg = Svg::new(940, 570);
    svg.text(80, 30, "title", &"Sinusoidal positional encoding");
    let formula = "feature 2i is sin(pos / 10000^(2i / d_model)), 2i+1 the cosine; d_model =";
    svg.text(80, 52, "", &format!("{formula} {D_MODEL}"));
    svg.0 += "<g transform=\"translate(80 70) scale(6 4.2)\" shape-rendering=\"crispEdges\">";
    for (tone, path) in paths.iter().enumerate() {
        svg.0 += &format!("<path fill=\"{}\" d=\"{path}\"/>", color(tone));
    }
    svg.0 += "</g>";
    for feature in (0..D_MODEL).step_by(16) {
        svg.text(83 + 6 * feature, 508, "middle", &feature);
    }
    for position in (0..N_POSITIONS).step_by(10) {
        svg.text(72, 76 + position * 21 / 5, "end", &position);
    }
    svg.text(80 + 6 * D_MODEL / 2, 534, "middle", &"feature");
    svg.upwards(30, 280, "middle", "position, in tokens");
    for tone in 0..N_TONES {
        let (y, color) = (70 + 20 * (N_TONES - 1 - tone), color(tone));
        svg.0 += &format!("<path fill=\"{color}\" d=\"M870 {y}h18v20h-18z\"/>");
    }
    for (y, value) in [(84, "1"), (284, "0"), (485, "−1")] {
        svg.text(896, y, "", &value);
    }
    svg.done()
}

/// Returns a tone's color: from blue through almost white to red.
fn color(tone: usize) -> String {
    let share = tone as f32 / (N_TONES - 1) as f32 * 2.0 - 1.0;
    let ends = [[33.0, 102.0, 172.0], [178.0, 24.0, 43.0]];
    let end = ends[usize::from(share > 0.0)];
    let [red, green, blue] = end.map(|end| (247.0 + (end - 247.0) * share.abs()).round() as u8);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Draws six masks, each as a grid of queries and keys.
fn masks(device: &Device) -> String {
    let batch = Padded::new(&[vec![4; LEN], vec![4; 5]], device);
    let padding = batch.mask().map(Mask::padding);
    let causal = Mask::causal(0, LEN, device);
    let window = Mask::window(2, 0, LEN, device);
    let both = |one: &Option<Mask>, other: &Option<Mask>| Some(one.clone()?.and(other.clone()?));
    let panels = [
        ("Padding", "encoder", padding.clone(), SRC, SRC),
        ("Causal", "decoder", causal.clone(), TGT, TGT),
        (
            "Causal and padding",
            "decoder",
            both(&causal, &padding),
            TGT,
            TGT,
        ),
        ("Padding", "decoder to memory", padding.clone(), TGT, SRC),
        (
            "Window of 2 (§4) and padding",
            "encoder",
            both(&window, &padding),
            SRC,
            SRC,
        ),
        (
            "Window of 2 and causal",
            "decoder",
            both(&window, &causal),
            TGT,
            TGT,
        ),
    ];
    let mut svg = Svg::new(1010, 790);
    svg.text(30, 34, "title", &"Which keys a query sees");
    let about = "A row for each query, a column for each key. Sentences of 5 tokens are padded to 8. \
                 A query without visible keys attends to nothing.";
    svg.text(30, 57, "", &about);
    for (x, class, name) in [(810, "seen", "seen"), (890, "hidden", "hidden")] {
        svg.cell(x, 20, class);
        svg.text(x + 28, 35, "", &name);
    }
    for (number, (title, layer, mask, queries, keys)) in panels.into_iter().enumerate() {
        let (left, top) = (125 + number % 3 * 325, 185 + number / 3 * 350);
        svg.text(left - 95, top - 90, "head", &title);
        svg.text(left - 95, top - 73, "small", &layer);
        for (key, word) in keys.iter().enumerate() {
            svg.upwards(left + 24 * key + 15, top - 6, "small", word);
        }
        for (query, row) in hidden(mask).chunks(LEN).enumerate() {
            let y = top + 24 * query;
            svg.text(left - 7, y + 15, "small end", &escaped(queries[query]));
            for (key, is_hidden) in row.iter().enumerate() {
                let class = if *is_hidden { "hidden" } else { "seen" };
                svg.cell(left + 24 * key, y, class);
            }
        }
        svg.text(left + 12 * LEN, top + 24 * LEN + 16, "small middle", &"key");
        svg.upwards(left - 87, top + 12 * LEN, "small middle", "query");
    }
    svg.done()
}

/// Returns whether each key is hidden from each query of the batch's last sequence.
fn hidden(mask: Option<Mask>) -> Vec<bool> {
    let Some(hidden) = mask.and_then(|mask| mask.hidden_keys()) else {
        return vec![false; LEN * LEN];
    };
    let [batch, ..] = hidden.dims();
    let hidden = hidden.narrow(0, batch - 1, 1).expand([1, 1, LEN, LEN]);
    hidden.into_data().iter::<bool>().collect()
}

fn escaped(text: &str) -> String {
    text.replace('<', "&lt;")
}

/// An SVG picture under construction.
struct Svg(String);

impl Svg {
    fn new(width: usize, height: usize) -> Self {
        let size = format!("width=\"{width}\" height=\"{height}\"");
        let svg = format!("<svg xmlns=\"http://www.w3.org/2000/svg\" {size}");
        let page = format!("<rect class=\"page\" {size}/>");
        let view = format!("viewBox=\"0 0 {width} {height}\"");
        Self(format!("{svg} {view}>{STYLE}{page}\n"))
    }

    fn text(&mut self, x: usize, y: usize, class: &str, text: &impl Display) {
        self.0 += &format!("<text x=\"{x}\" y=\"{y}\" class=\"{class}\">{text}</text>\n");
    }

    /// Writes a text rotated by 90 degrees, to be read from bottom to top.
    fn upwards(&mut self, x: usize, y: usize, class: &str, text: &str) {
        let turn = format!("transform=\"translate({x} {y}) rotate(-90)\"");
        let text = escaped(text);
        self.0 += &format!("<text {turn} class=\"{class}\">{text}</text>\n");
    }

    fn cell(&mut self, x: usize, y: usize, class: &str) {
        self.0 += &format!("<path class=\"{class}\" d=\"M{x} {y}h22v22h-22z\"/>\n");
    }

    fn done(self) -> String {
        self.0 + "</svg>\n"
    }
}
