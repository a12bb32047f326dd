//! [`HeatMap`]: matrices as colored cells, side by side.

use std::collections::BTreeMap;

use anyhow::Result;
use burn::tensor::Tensor;

use super::picture::{Picture, short};
use super::scale::{Scale, marks};
use crate::print::values;

const TOP: f64 = 100.0;
/// Cells of at least this many pixels have their value written into them.
const READABLE: f64 = 30.0;

/// Matrices side by side, with a common color scale.
#[derive(Clone, Debug)]
pub struct HeatMap {
    title: String,
    scale: Scale,
    row_axis: String,
    column_axis: String,
    /// Width and height of a cell, in pixels.
    cell: (f64, f64),
    panels: Vec<Panel>,
}

#[derive(Clone, Debug)]
struct Panel {
    title: String,
    /// The names of the rows and columns; without names, they are numbered.
    names: Option<(Vec<String>, Vec<String>)>,
    dims: [usize; 2],
    values: Vec<f32>,
}

impl HeatMap {
    /// Begins a picture in which rows and columns have the same meaning in all matrices.
    pub fn new(title: &str, scale: Scale, row_axis: &str, column_axis: &str) -> Self {
        Self {
            title: title.to_owned(),
            scale,
            row_axis: row_axis.to_owned(),
            column_axis: column_axis.to_owned(),
            cell: (44.0, 30.0),
            panels: Vec::new(),
        }
    }

    /// Sets the width and height of a cell, in pixels.
    #[must_use]
    pub fn cells(mut self, width: f64, height: f64) -> Self {
        self.cell = (width, height);
        self
    }

    /// Adds a matrix with named rows and columns.
    ///
    /// # Panics
    ///
    /// Panics if the numbers of names differ from those of rows and columns.
    #[must_use]
    pub fn panel(
        mut self,
        title: &str,
        rows: &[impl AsRef<str>],
        columns: &[impl AsRef<str>],
        matrix: &Tensor<2>,
    ) -> Self {
        assert_eq!(matrix.dims(), [rows.len(), columns.len()], "each row and column has a name");
        let rows = rows.iter().map(|name| name.as_ref().to_owned());
        let columns = columns.iter().map(|name| name.as_ref().to_owned());
        self.panels.push(Panel {
            title: title.to_owned(),
            names: Some((rows.collect(), columns.collect())),
            dims: matrix.dims(),
            values: values(matrix),
        });
        self
    }

    /// Adds a matrix with rows and columns numbered from 0.
    #[must_use]
    pub fn numbered(mut self, title: &str, matrix: &Tensor<2>) -> Self {
        self.panels.push(Panel {
            title: title.to_owned(),
            names: None,
            dims: matrix.dims(),
            values: values(matrix),
        });
        self
    }

    /// Draws the picture, and writes it like [`Picture::save`].
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn save(&self, name: &str) -> Result<()> {
        self.draw().save(name)
    }

    fn draw(&self) -> Picture {
        let (width, height) = self.cell;
        let lefts: Vec<f64> = self
            .panels
            .iter()
            .scan(20.0, |x, panel| {
                let left = *x + 34.0 + panel.margin();
                *x = left + panel.dims[1] as f64 * width;
                Some(left)
            })
            .collect();
        let right =
            self.panels.iter().zip(&lefts).map(|(panel, left)| left + panel.dims[1] as f64 * width);
        let rows = self.panels.iter().map(|panel| panel.dims[0]).max().unwrap_or(0) as f64;
        // Titles are longer than narrow pictures.
        let wide = right.fold(0.0, f64::max).max(10.8 * self.title.chars().count() as f64) + 25.0;
        let has_legend = self.scale == Scale::Signed && width < READABLE;
        let below = if has_legend { 65.0 } else { 45.0 };
        let mut picture = Picture::new(wide, TOP + rows * height + below, &self.title);
        for (panel, left) in self.panels.iter().zip(lefts) {
            self.draw_panel(panel, left, &mut picture);
        }
        if has_legend {
            self.draw_legend(TOP + rows * height + 36.0, &mut picture);
        }
        picture
    }

    /// Draws the meaning of the colors, for cells that are too small for their values.
    fn draw_legend(&self, y: f64, picture: &mut Picture) {
        for (index, value) in [-1.0_f32, -0.5, 0.0, 0.5, 1.0].into_iter().enumerate() {
            let x = 60.0 + 62.0 * index as f64;
            let color = self.scale.color(value);
            picture.push(&format!("<path fill=\"{color}\" d=\"M{x} {y}h16v16h-16z\"/>"));
            picture.text(x + 21.0, y + 13.0, "small", value.to_string().replace('-', "−"));
        }
    }

    fn draw_panel(&self, panel: &Panel, left: f64, picture: &mut Picture) {
        let (width, height) = self.cell;
        let [n_rows, n_columns] = panel.dims;
        picture.text(left, TOP - 38.0, "head", &panel.title);
        panel.draw_names((left, TOP), self.cell, picture);
        panel.draw_cells((left, TOP), self.cell, self.scale, picture);
        if width >= READABLE {
            for (index, value) in panel.values.iter().enumerate() {
                let class = match self.scale.is_dark(*value) {
                    true => "small middle dark",
                    false => "small middle light",
                };
                let x = left + ((index % n_columns) as f64 + 0.5) * width;
                let y = TOP + ((index / n_columns) as f64 + 0.5) * height + 4.0;
                let text = format!("{value:.2}").replace("-0.00", "0.00").replace('-', "−");
                picture.text(x, y, class, text);
            }
        }
        let below = TOP + n_rows as f64 * height + 22.0;
        picture.text(
            left + n_columns as f64 * width / 2.0,
            below,
            "small middle",
            &self.column_axis,
        );
        let beside = left - panel.margin() - 8.0;
        picture.upwards(beside, TOP + n_rows as f64 * height / 2.0, "small middle", &self.row_axis);
    }
}

impl Panel {
    /// Returns the width of the names of the rows, in pixels.
    fn margin(&self) -> f64 {
        let longest = self
            .names
            .as_ref()
            .map_or(2, |(rows, _)| rows.iter().map(|name| name.chars().count()).max().unwrap_or(0));
        12.0 + 7.0 * longest as f64
    }

    /// Draws one path for each color: rectangles of neighbors in a column.
    fn draw_cells(
        &self,
        (left, top): (f64, f64),
        cell: (f64, f64),
        scale: Scale,
        picture: &mut Picture,
    ) {
        let [n_rows, n_columns] = self.dims;
        let color = |row: usize, column: usize| scale.color(self.values[row * n_columns + column]);
        let mut paths: BTreeMap<String, String> = BTreeMap::new();
        for column in 0..n_columns {
            let mut start = 0;
            for row in 1..=n_rows {
                if row == n_rows || color(row, column) != color(start, column) {
                    let height = row - start;
                    let path = format!("M{column} {start}v{height}h1v-{height}z");
                    *paths.entry(color(start, column)).or_default() += &path;
                    start = row;
                }
            }
        }
        let transform =
            format!("translate({} {}) scale({} {})", short(left), short(top), cell.0, cell.1);
        picture.push(&format!("<g transform=\"{transform}\" shape-rendering=\"crispEdges\">"));
        for (color, path) in paths {
            picture.push(&format!("<path fill=\"{color}\" d=\"{path}\"/>"));
        }
        picture.push("</g>");
    }

    fn draw_names(&self, (left, top): (f64, f64), cell: (f64, f64), picture: &mut Picture) {
        let numbers = |n: usize| -> Vec<(usize, String)> {
            let marks = marks(0.0, n as f64 - 1.0).into_iter().map(|mark| mark.round() as usize);
            let mut marks: Vec<usize> = marks.collect();
            marks.dedup();
            marks.into_iter().map(|mark| (mark, mark.to_string())).collect()
        };
        let (rows, columns) = match &self.names {
            Some((rows, columns)) => (
                rows.iter().cloned().enumerate().collect(),
                columns.iter().cloned().enumerate().collect(),
            ),
            None => (numbers(self.dims[0]), numbers(self.dims[1])),
        };
        for (row, name) in rows {
            let y = top + (row as f64 + 0.5) * cell.1 + 4.0;
            picture.text(left - 7.0, y, "small end", name);
        }
        // Names that do not fit beside each other take two rows.
        for (column, name) in columns {
            let is_long = 6.5 * name.chars().count() as f64 > cell.0;
            let raised = if is_long && column % 2 == 1 { 13.0 } else { 0.0 };
            let x = left + (column as f64 + 0.5) * cell.0;
            picture.text(x, top - 7.0 - raised, "small middle", name);
        }
    }
}
