//! [`BarChart`]: bars over an axis of names.

use anyhow::Result;

use super::picture::{N_COLORS, Picture};
use super::scale::{label, marks};

const LEFT: f64 = 80.0;
const TOP: f64 = 55.0;
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 240.0;

/// Groups of bars: one group for each name of the horizontal axis, one bar of each series in it.
#[derive(Clone, Debug)]
pub struct BarChart {
    title: String,
    y_axis: String,
    names: Vec<String>,
    series: Vec<(String, Vec<f64>)>,
}

impl BarChart {
    /// Begins a chart; the vertical axis is named with its unit.
    pub fn new(title: &str, y_axis: &str, names: &[impl AsRef<str>]) -> Self {
        Self {
            title: title.to_owned(),
            y_axis: y_axis.to_owned(),
            names: names.iter().map(|name| name.as_ref().to_owned()).collect(),
            series: Vec::new(),
        }
    }

    /// Adds a bar, not negative, to every group.
    ///
    /// # Panics
    ///
    /// Panics if the number of values is not that of the names.
    #[must_use]
    pub fn bars(mut self, name: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        assert_eq!(values.len(), self.names.len(), "each name has a value");
        self.series.push((name.to_owned(), values));
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
        let longest = self.series.iter().map(|(name, _)| name.chars().count()).max();
        let legend = 60.0 + 8.0 * longest.unwrap_or(0) as f64;
        let mut picture = Picture::new(LEFT + WIDTH + legend, TOP + HEIGHT + 40.0, &self.title);
        let values = self.series.iter().flat_map(|(_, values)| values);
        let high = values.fold(f64::MIN_POSITIVE, |high, value| high.max(*value)) * 1.05;
        let at_y = |y: f64| TOP + HEIGHT - y / high * HEIGHT;
        for mark in marks(0.0, high) {
            picture.line(&[(LEFT, at_y(mark)), (LEFT + WIDTH, at_y(mark))], "grid");
            picture.text(LEFT - 8.0, at_y(mark) + 4.0, "small end", label(mark));
        }
        let group = WIDTH / self.names.len() as f64;
        let width = group * 0.8 / self.series.len() as f64;
        for (index, name) in self.names.iter().enumerate() {
            let middle = LEFT + group * (index as f64 + 0.5);
            picture.text(middle, TOP + HEIGHT + 18.0, "small middle", name);
        }
        for (index, (name, values)) in self.series.iter().enumerate() {
            let class = format!("f{}", index % N_COLORS);
            for (position, value) in values.iter().enumerate() {
                let x = LEFT + group * (position as f64 + 0.1) + width * index as f64;
                picture
                    .rectangle([x, at_y(*value), width - 1.0, TOP + HEIGHT - at_y(*value)], &class);
            }
            let (x, y) = (LEFT + WIDTH + 14.0, TOP + 14.0 + 22.0 * index as f64);
            picture.rectangle([x, y - 11.0, 14.0, 14.0], &class);
            picture.text(x + 22.0, y, "", name);
        }
        picture.line(&[(LEFT, TOP), (LEFT, TOP + HEIGHT), (LEFT + WIDTH, TOP + HEIGHT)], "axis");
        picture.upwards(24.0, TOP + HEIGHT / 2.0, "middle", &self.y_axis);
        picture
    }
}
