//! [`Tree`]: the drawing of a search that branches.

use anyhow::Result;

use super::picture::Picture;

const LEFT: f64 = 30.0;
const TOP: f64 = 60.0;
const COLUMN: f64 = 165.0;
const ROW: f64 = 46.0;
const WIDTH: f64 = 116.0;

/// A tree with boxes of two lines as nodes; time goes from left to right.
#[derive(Clone, Debug)]
pub struct Tree {
    title: String,
    nodes: Vec<Node>,
}

#[derive(Clone, Debug)]
struct Node {
    parent: Option<usize>,
    depth: usize,
    lines: [String; 2],
    is_kept: bool,
}

impl Tree {
    /// Begins a tree with its root.
    pub fn new(title: &str, root: &str) -> Self {
        let root =
            Node { parent: None, depth: 0, lines: [root.to_owned(), String::new()], is_kept: true };
        Self { title: title.to_owned(), nodes: vec![root] }
    }

    /// Adds a node after another, with a name and a remark, and returns its number; the root is 0.
    ///
    /// Nodes that a search does not continue are grey.
    ///
    /// # Panics
    ///
    /// Panics if no node has the parent's number.
    pub fn node(&mut self, parent: usize, name: &str, remark: &str, is_kept: bool) -> usize {
        self.nodes.push(Node {
            parent: Some(parent),
            depth: self.nodes[parent].depth + 1,
            lines: [name.to_owned(), remark.to_owned()],
            is_kept,
        });
        self.nodes.len() - 1
    }

    /// Draws the tree, and writes it like [`Picture::save`].
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn save(&self, name: &str) -> Result<()> {
        self.draw().save(name)
    }

    fn draw(&self) -> Picture {
        let rows = self.rows();
        let depth = self.nodes.iter().map(|node| node.depth).max().unwrap_or(0) as f64;
        let height = rows.iter().fold(0.0, |high: f64, row| high.max(*row));
        let width =
            (LEFT + COLUMN * depth + WIDTH + 30.0).max(10.0 * self.title.chars().count() as f64);
        let mut picture = Picture::new(width, TOP + ROW * (height + 1.0) + 15.0, &self.title);
        let at = |index: usize| {
            (LEFT + COLUMN * self.nodes[index].depth as f64, TOP + ROW * rows[index])
        };
        for (index, node) in self.nodes.iter().enumerate() {
            if let Some(parent) = node.parent {
                let ((from_x, from_y), (x, y)) = (at(parent), at(index));
                let class = if node.is_kept { "line s0" } else { "grid" };
                picture.line(&[(from_x + WIDTH, from_y + 17.0), (x, y + 17.0)], class);
            }
        }
        for (index, node) in self.nodes.iter().enumerate() {
            let (x, y) = at(index);
            picture.rectangle([x, y, WIDTH, 34.0], if node.is_kept { "on" } else { "off" });
            let has_remark = !node.lines[1].is_empty();
            let middle = x + WIDTH / 2.0;
            picture.text(
                middle,
                y + if has_remark { 15.0 } else { 22.0 },
                "middle",
                &node.lines[0],
            );
            picture.text(middle, y + 29.0, "small middle", &node.lines[1]);
        }
        picture
    }

    /// Returns the row of every node: leaves one below the other, parents in the middle of their children.
    fn rows(&self) -> Vec<f64> {
        let mut rows = vec![0.0; self.nodes.len()];
        let mut n_leaves = 0;
        self.layout(0, &mut rows, &mut n_leaves);
        rows
    }

    fn layout(&self, index: usize, rows: &mut [f64], n_leaves: &mut usize) {
        let children: Vec<usize> = (0..self.nodes.len())
            .filter(|&child| self.nodes[child].parent == Some(index))
            .collect();
        for &child in &children {
            self.layout(child, rows, n_leaves);
        }
        match (children.first(), children.last()) {
            (Some(&first), Some(&last)) => rows[index] = f64::midpoint(rows[first], rows[last]),
            _ => {
                rows[index] = *n_leaves as f64;
                *n_leaves += 1;
            }
        }
    }
}
