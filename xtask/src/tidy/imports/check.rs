//! The rules about the imports in a crate.

use std::collections::BTreeSet;

use super::circles::circles;
use super::modules::{Arrow, Modules};
use super::order::{ALLOWED, ORDERS, UNORDERED};
use crate::tidy::problem::Problem;
use crate::tidy::tree::Tree;

/// Checks the imports of every crate.
///
/// Modules under `#[cfg(test)]` are not read: a test may import anything of its crate.
pub(in crate::tidy) fn check(tree: &Tree) -> Vec<Problem> {
    let ordered = ORDERS.into_iter().flat_map(|(package, order)| {
        let modules = Modules::read(tree, package);
        let arrows = modules.arrows();
        let mut problems = upward(package, order, &arrows);
        problems.extend(unlisted(package, order, tree));
        problems.extend(tables_of_contents(package, &modules));
        problems.extend(check_circles(package, arrows, &ALLOWED));
        problems
    });
    let unordered = UNORDERED.into_iter().flat_map(|package| {
        check_circles(package, Modules::read(tree, package).arrows(), &ALLOWED)
    });
    ordered.chain(unordered).collect()
}

/// Returns the imports of what is later in the order.
fn upward(package: &str, order: &[&str], arrows: &[Arrow]) -> Vec<Problem> {
    let rank = |path: &str| {
        order
            .iter()
            .position(|it| *it == entry(path))
            .unwrap_or(order.len())
    };
    let is_upward = |it: &&Arrow| rank(&it.from) < rank(&it.to) && entry(&it.from) != "main.rs";
    let problem = |arrow: &Arrow| Problem {
        location: format!("{package}/src/{}:{}", arrow.from, arrow.line),
        message: format!(
            "`{}` must not import `{}`, which comes later in xtask/src/tidy/imports/order.rs: `{}` is \
             defined in {}; move it down, or pass the value as an argument",
            entry(&arrow.from),
            entry(&arrow.to),
            arrow.path,
            arrow.to,
        ),
    };
    arrows.iter().filter(is_upward).map(problem).collect()
}

/// Returns the entries of `src` that have no rank in the order.
fn unlisted(package: &str, order: &[&str], tree: &Tree) -> Vec<Problem> {
    let src = format!("{package}/src/");
    let paths = tree.paths.iter().filter_map(|path| path.strip_prefix(&src));
    let entries: BTreeSet<&str> = paths.map(entry).collect();
    let unlisted = entries
        .into_iter()
        .filter(|it| !order.contains(it) && !["lib.rs", "main.rs"].contains(it));
    let problem = |entry: &str| Problem {
        location: format!("{src}{entry}"),
        message: "has no rank among the folders; give it one in xtask/src/tidy/imports/order.rs"
            .to_owned(),
    };
    unlisted.map(problem).collect()
}

/// Returns the `mod.rs` files that are more than a table of contents.
fn tables_of_contents(package: &str, modules: &Modules) -> Vec<Problem> {
    let files: BTreeSet<&str> = modules
        .files_with_items()
        .filter(|file| file.ends_with("mod.rs"))
        .collect();
    let problem = |file: &str| Problem {
        location: format!("{package}/src/{file}"),
        message: "defines items; a mod.rs is a table of contents: move them to a file of their own"
            .to_owned(),
    };
    files.into_iter().map(problem).collect()
}

/// Returns the circles between files, and the exceptions that are not needed.
fn check_circles(
    package: &str,
    mut arrows: Vec<Arrow>,
    allowed: &[(&str, &str, &str)],
) -> Vec<Problem> {
    let src = format!("{package}/src/");
    let mut problems = Vec::new();
    for (from, to, _) in allowed {
        let (Some(from), Some(to)) = (from.strip_prefix(&src), to.strip_prefix(&src)) else {
            continue;
        };
        let is_it = |it: &Arrow| it.from == from && it.to == to;
        let without: Vec<Arrow> = arrows.iter().filter(|it| !is_it(it)).cloned().collect();
        if circles(&without).len() == circles(&arrows).len()
            && circles(&without) == circles(&arrows)
        {
            problems.push(Problem {
                location: format!("{src}{from}"),
                message: format!(
                    "closes no circle with {src}{to}; remove the exception from order.rs"
                ),
            });
        }
        arrows = without;
    }
    problems.extend(
        circles(&arrows)
            .iter()
            .map(|(circle, n)| describe(&src, circle, *n)),
    );
    problems
}

fn describe(src: &str, circle: &[&Arrow], n_files: usize) -> Problem {
    let chain: Vec<String> = circle
        .iter()
        .map(|it| {
            format!(
                "{} uses `{}` of {} (line {})",
                it.from, it.path, it.to, it.line
            )
        })
        .collect();
    let first = circle.first().map_or("", |it| it.from.as_str());
    let others = match n_files - circle.len() {
        0 => String::new(),
        n => format!("; with {n} more files it is one group that all import each other"),
    };
    Problem {
        location: format!("{src}{first}"),
        message: format!(
            "is in a circle of imports: {}{others}; move what two of them share into a file below both, or \
             pass the value as an argument",
            chain.join(", "),
        ),
    }
}

/// Returns the entry of `src` that a file belongs to.
fn entry(path: &str) -> &str {
    match path.split_once('/') {
        Some((folder, _)) => folder,
        None if ["lib.rs", "main.rs"].contains(&path) => path,
        None => path.strip_suffix(".rs").unwrap_or(path),
    }
}
