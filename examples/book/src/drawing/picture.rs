//! [`Picture`]: an SVG file under construction.

use std::fmt::Display;

use anyhow::Result;

use crate::output;

/// Dark on light, or light on dark if the reader's system is set to that.
const STYLE: &str = "<style>\
text{font:13px sans-serif;fill:#24292f}.title{font-size:17px;font-weight:600}.head{font-weight:600}\
.small{font-size:11px}.middle{text-anchor:middle}.end{text-anchor:end}.page{fill:#fff}\
.axis{stroke:#8c959f;fill:none}.grid{stroke:#d8dee4;fill:none}.line{fill:none;stroke-width:2}\
.box{fill:#f6f8fa;stroke:#8c959f}.on{fill:#ddebf9;stroke:#2f74c0}.off{fill:#eaeef2;stroke:none}\
.arrow{fill:none;stroke:#57606a;stroke-width:1.4}.tip{fill:#57606a}.dark{fill:#fff}\
.s0{stroke:#2f74c0}.s1{stroke:#c2541b}.s2{stroke:#2a8a4a}.s3{stroke:#8250df}.s4{stroke:#a4841a}\
.f0{fill:#2f74c0}.f1{fill:#c2541b}.f2{fill:#2a8a4a}.f3{fill:#8250df}.f4{fill:#a4841a}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#0d1117}.axis{stroke:#8b949e}\
.grid{stroke:#30363d}.box{fill:#161b22;stroke:#8b949e}.on{fill:#12304f;stroke:#58a6ff}\
.off{fill:#21262d}.arrow{stroke:#adbac7}.tip{fill:#adbac7}.light{fill:#24292f}\
.s0{stroke:#58a6ff}.s1{stroke:#f0883e}.s2{stroke:#56d364}.s3{stroke:#bc8cff}.s4{stroke:#e3b341}\
.f0{fill:#58a6ff}.f1{fill:#f0883e}.f2{fill:#56d364}.f3{fill:#bc8cff}.f4{fill:#e3b341}}</style>";

/// The number of colors for lines (`s0`, `s1`, …) and areas (`f0`, `f1`, …).
pub(super) const N_COLORS: usize = 5;

/// A picture: a title, and shapes at positions in pixels from the top left.
#[derive(Clone, Debug)]
pub struct Picture {
    width: f64,
    height: f64,
    title: String,
    body: String,
}

impl Picture {
    /// Begins an empty picture.
    pub fn new(width: f64, height: f64, title: &str) -> Self {
        let mut picture = Self { width, height, title: title.to_owned(), body: String::new() };
        picture.text(20.0, 30.0, "title", title);
        picture
    }

    /// Writes a text, left-aligned unless the class is `middle` or `end`.
    pub fn text(&mut self, x: f64, y: f64, class: &str, text: impl Display) {
        let text = escape(&text.to_string());
        let (x, y) = (short(x), short(y));
        self.push(&format!("<text x=\"{x}\" y=\"{y}\" class=\"{class}\">{text}</text>"));
    }

    /// Writes a text rotated to read from bottom to top.
    pub fn upwards(&mut self, x: f64, y: f64, class: &str, text: &str) {
        let turn = format!("transform=\"translate({} {}) rotate(-90)\"", short(x), short(y));
        self.push(&format!("<text {turn} class=\"{class}\">{}</text>", escape(text)));
    }

    /// Draws a rectangle.
    pub fn rectangle(&mut self, [x, y, width, height]: [f64; 4], class: &str) {
        let (x, y, width, height) = (short(x), short(y), short(width), short(height));
        self.push(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" class=\"{class}\"/>"
        ));
    }

    /// Draws a line through points.
    pub fn line(&mut self, points: &[(f64, f64)], class: &str) {
        let points: Vec<String> =
            points.iter().map(|(x, y)| format!("{},{}", short(*x), short(*y))).collect();
        self.push(&format!("<polyline points=\"{}\" class=\"{class}\"/>", points.join(" ")));
    }

    /// Adds a line of SVG.
    pub(super) fn push(&mut self, svg: &str) {
        self.body += svg;
        self.body.push('\n');
    }

    /// Returns the whole file.
    pub fn svg(&self) -> String {
        let size = format!("width=\"{}\" height=\"{}\"", self.width, self.height);
        let view = format!("viewBox=\"0 0 {} {}\"", self.width, self.height);
        let head = "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"";
        let page = format!("<rect class=\"page\" {size}/>");
        let title = format!("<title>{}</title>", escape(&self.title));
        format!("{head} {size} {view}>\n{title}\n{STYLE}\n{page}\n{}</svg>\n", self.body)
    }

    /// Writes the file `NAME.svg` into the folder that is the program's first argument, or `runs/book`.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn save(&self, name: &str) -> Result<()> {
        output::write(&format!("{name}.svg"), &self.svg())
    }
}

/// Returns a coordinate with at most one decimal.
pub(super) fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
