//! The rules about the imports in a crate.

use std::collections::BTreeSet;

use super::circles::circles;
use super::modules::{Arrow, Modules};
use super::order::{ALLOWED, APART, ORDERS, UNORDERED};
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
        problems.extend(apart(package, &arrows, &APART));
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

/// Returns the imports between folders that must not know each other.
fn apart(package: &str, arrows: &[Arrow], pairs: &[(&str, &str, &str)]) -> Vec<Problem> {
    let is_refused = |it: &&Arrow| pairs.contains(&(package, entry(&it.from), entry(&it.to)));
    let problem = |arrow: &Arrow| Problem {
        location: format!("{package}/src/{}:{}", arrow.from, arrow.line),
        message: format!(
            "`{}` must not import `{}`, but uses `{}`; pass the value as an argument",
            entry(&arrow.from),
            entry(&arrow.to),
            arrow.path,
        ),
    };
    arrows.iter().filter(is_refused).map(problem).collect()
}

/// Returns the entries of `src` that have no rank in the order, and the ranks without an entry.
fn unlisted(package: &str, order: &[&str], tree: &Tree) -> Vec<Problem> {
    let src = format!("{package}/src/");
    let paths = tree.paths.iter().filter_map(|path| path.strip_prefix(&src));
    let entries: BTreeSet<&str> = paths.map(entry).collect();
    let listed: BTreeSet<&str> = order.iter().copied().chain(["lib.rs", "main.rs"]).collect();
    let unlisted = entries.difference(&listed).map(|entry| Problem {
        location: format!("{src}{entry}"),
        message: "has no rank among the folders; give it one in xtask/src/tidy/imports/order.rs"
            .to_owned(),
    });
    let missing = order.iter().filter(|entry| !entries.contains(*entry));
    let missing = missing.map(|entry| Problem {
        location: "xtask/src/tidy/imports/order.rs".to_owned(),
        message: format!("lists `{entry}`, which is not in {src}"),
    });
    unlisted.chain(missing).collect()
}

/// Returns the `mod.rs` files that are more than a table of contents.
fn tables_of_contents(package: &str, modules: &Modules) -> Vec<Problem> {
    let files: BTreeSet<&str> = modules
        .files_with_items()
        .filter(|file| file.ends_with("mod.rs"))
        .collect();
    let problem = |file: &str| {
        Problem {
        location: format!("{package}/src/{file}"),
        message: "has items or `impl` blocks; a mod.rs is a table of contents: move them to a file of their own"
            .to_owned(),
    }
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
            "is part of an import cycle: {}{others}; move what two of them share into a file below both, or \
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the problems of a crate `a` whose order is `low`, `high`.
    fn problems(files: &[(&str, &str)], allowed: &[(&str, &str, &str)]) -> Vec<String> {
        let tree = Tree::of(files);
        let modules = Modules::read(&tree, "a");
        let order = ["low", "high"];
        let mut problems = upward("a", &order, &modules.arrows());
        problems.extend(unlisted("a", &order, &tree));
        problems.extend(tables_of_contents("a", &modules));
        problems.extend(check_circles("a", modules.arrows(), allowed));
        problems.iter().map(ToString::to_string).collect()
    }

    const LIB: (&str, &str) = ("a/src/lib.rs", "mod low;\nmod high;");

    #[test]
    fn imports_in_the_order_pass() {
        let files = [
            LIB,
            ("a/src/low.rs", "pub struct L;"),
            ("a/src/high/mod.rs", "mod h;\npub use h::H;"),
            ("a/src/high/h.rs", "use crate::low::L;\npub struct H;"),
        ];
        assert_eq!(problems(&files, &[]), Vec::<String>::new());
    }

    #[test]
    fn an_import_against_the_order_is_found_with_its_line() {
        let files = [
            LIB,
            ("a/src/low.rs", "\nuse crate::high::H;"),
            ("a/src/high.rs", "pub struct H;"),
        ];
        let found = problems(&files, &[]);
        let start = "a/src/low.rs:2: `low` must not import `high`, which comes later in ";
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with(start), "{found:?}");
    }

    #[test]
    fn an_import_between_folders_that_are_apart_is_found_however_it_is_written() {
        for import in [
            "use crate::{low::L, x};",
            "use super::super::low::L;",
            "fn f() -> crate::low::L { todo }",
        ] {
            let files = [
                LIB,
                ("a/src/low.rs", "pub struct L;"),
                ("a/src/high/mod.rs", "mod h;"),
                ("a/src/high/h.rs", import),
            ];
            let arrows = Modules::read(&Tree::of(&files), "a").arrows();
            let found = apart("a", &arrows, &[("a", "high", "low")]);
            assert_eq!(found.len(), 1, "{import}");
            assert_eq!(found[0].location, "a/src/high/h.rs:1");
            assert!(apart("a", &arrows, &[("a", "low", "high")]).is_empty());
        }
    }

    #[test]
    fn entries_without_a_rank_and_ranks_without_an_entry_are_found() {
        let files = [
            ("a/src/lib.rs", "mod low;"),
            ("a/src/low.rs", ""),
            ("a/src/other.rs", ""),
        ];
        let found = problems(&files, &[]);
        assert!(
            found[0].starts_with("a/src/other: has no rank"),
            "{found:?}"
        );
        assert!(
            found[1].ends_with("lists `high`, which is not in a/src/"),
            "{found:?}"
        );
    }

    #[test]
    fn items_and_impl_blocks_in_a_table_of_contents_are_found() {
        for text in ["pub struct L;", "impl crate::high::H {}"] {
            let files = [
                LIB,
                ("a/src/low/mod.rs", text),
                ("a/src/high.rs", "pub struct H;"),
            ];
            let found = problems(&files, &[]);
            let start = "a/src/low/mod.rs: has items or `impl` blocks";
            assert!(found.iter().any(|it| it.starts_with(start)), "{found:?}");
        }
    }

    /// Two files that import each other.
    const CIRCLE: [(&str, &str); 5] = [
        LIB,
        ("a/src/low/mod.rs", "mod b;\nmod c;"),
        ("a/src/low/b.rs", "use super::c::C;\npub struct B;"),
        ("a/src/low/c.rs", "pub struct C;\nfn f() { super::b::B }"),
        ("a/src/high.rs", ""),
    ];

    #[test]
    fn a_circle_is_described_with_every_import() {
        assert_eq!(
            problems(&CIRCLE, &[]),
            ["a/src/low/b.rs: is part of an import cycle: \
              low/b.rs uses `super::c::C` of low/c.rs (line 1), \
              low/c.rs uses `super::b::B` of low/b.rs (line 2); \
              move what two of them share into a file below both, or pass the value as an argument"]
        );
    }

    #[test]
    fn an_allowed_circle_passes_and_an_exception_without_a_circle_is_found() {
        let (b, c) = ("a/src/low/b.rs", "a/src/low/c.rs");
        assert_eq!(
            problems(&CIRCLE, &[(b, c, "a reason")]),
            Vec::<String>::new()
        );
        let found = problems(&CIRCLE, &[(b, c, "a reason"), (b, "a/src/high.rs", "none")]);
        assert!(
            found[0].starts_with("a/src/low/b.rs: closes no circle with a/src/high.rs"),
            "{found:?}"
        );
    }
}
