//! [`Chart`]: lines over an axis of numbers.

use anyhow::Result;

use super::picture::{N_COLORS, Picture};
use super::scale::{label, marks};

const LEFT: f64 = 80.0;
const TOP: f64 = 55.0;
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 260.0;

/// The division of an axis: evenly or by powers of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Division {
    Linear,
    Logarithmic,
}

/// A chart of named lines.
#[derive(Clone, Debug)]
pub struct Chart {
    title: String,
    x_axis: String,
    y_axis: String,
    lines: Vec<(String, Vec<(f64, f64)>)>,
    y_division: Division,
}

impl Chart {
    /// Begins a chart; the axes are named with their units.
    pub fn new(title: &str, x_axis: &str, y_axis: &str) -> Self {
        Self {
            title: title.to_owned(),
            x_axis: x_axis.to_owned(),
            y_axis: y_axis.to_owned(),
            lines: Vec::new(),
            y_division: Division::Linear,
        }
    }

    /// Adds a line through points.
    #[must_use]
    pub fn line(mut self, name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.lines.push((name.to_owned(), points.into_iter().collect()));
        self
    }

    /// Divides the vertical axis by powers of ten. All values must be positive.
    #[must_use]
    pub fn logarithmic(mut self) -> Self {
        self.y_division = Division::Logarithmic;
        self
    }

    /// Draws the chart, and writes it like [`Picture::save`].
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn save(&self, name: &str) -> Result<()> {
        self.draw().save(name)
    }

    fn draw(&self) -> Picture {
        let longest = self.lines.iter().map(|(name, _)| name.chars().count()).max();
        let legend = 60.0 + 8.0 * longest.unwrap_or(0) as f64;
        let mut picture = Picture::new(LEFT + WIDTH + legend, TOP + HEIGHT + 65.0, &self.title);
        let points = || self.lines.iter().flat_map(|(_, points)| points);
        let (x_low, x_high) = range(points().map(|point| point.0));
        let (y_low, y_high) = range(points().map(|point| self.height_of(point.1)));
        let y_low = match self.y_division {
            Division::Linear if y_low > 0.0 => 0.0,
            Division::Linear => y_low,
            Division::Logarithmic => y_low.floor(),
        };
        let at_x = |x: f64| LEFT + (x - x_low) / (x_high - x_low) * WIDTH;
        let at_y = |y: f64| TOP + HEIGHT - (y - y_low) / (y_high - y_low) * HEIGHT;
        for mark in marks(x_low, x_high) {
            picture.line(&[(at_x(mark), TOP), (at_x(mark), TOP + HEIGHT)], "grid");
            picture.text(at_x(mark), TOP + HEIGHT + 18.0, "small middle", label(mark));
        }
        for mark in self.y_marks(y_low, y_high) {
            picture.line(&[(LEFT, at_y(mark)), (LEFT + WIDTH, at_y(mark))], "grid");
            let text = match self.y_division {
                Division::Linear => label(mark),
                Division::Logarithmic => power_of_ten(mark as i32),
            };
            picture.text(LEFT - 8.0, at_y(mark) + 4.0, "small end", text);
        }
        picture.rectangle([LEFT, TOP, WIDTH, HEIGHT], "axis");
        for (index, (name, points)) in self.lines.iter().enumerate() {
            let color = index % N_COLORS;
            let at = |(x, y): &(f64, f64)| (at_x(*x), at_y(self.height_of(*y)));
            let points: Vec<(f64, f64)> = points.iter().map(at).collect();
            picture.line(&points, &format!("line s{color}"));
            let (x, y) = (LEFT + WIDTH + 14.0, TOP + 14.0 + 22.0 * index as f64);
            picture.line(&[(x, y - 4.0), (x + 18.0, y - 4.0)], &format!("line s{color}"));
            picture.text(x + 25.0, y, "", name);
        }
        picture.text(LEFT + WIDTH / 2.0, TOP + HEIGHT + 44.0, "middle", &self.x_axis);
        picture.upwards(24.0, TOP + HEIGHT / 2.0, "middle", &self.y_axis);
        picture
    }

    fn height_of(&self, y: f64) -> f64 {
        match self.y_division {
            Division::Linear => y,
            Division::Logarithmic => y.log10(),
        }
    }

    fn y_marks(&self, low: f64, high: f64) -> Vec<f64> {
        match self.y_division {
            Division::Linear => marks(low, high),
            Division::Logarithmic => {
                let step = (((high - low) / 6.0).ceil() as i64).max(1);
                let powers = (low.ceil() as i64..=high.floor() as i64).step_by(step as usize);
                powers.map(|power| power as f64).collect()
            }
        }
    }
}

/// Returns the smallest and the largest number; never the same.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    match low < high {
        true => (low, high),
        false => (low, low + 1.0),
    }
}

fn power_of_ten(power: i32) -> String {
    let digit = |character: char| match character {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32(0x2070 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit),
    };
    let digits: String = power.to_string().chars().map(digit).collect();
    format!("10{digits}")
}
