//! Tests of [`Modules`](super::modules::Modules).

use super::modules::{Arrow, Modules};
use crate::tidy::tree::Tree;

/// Returns the imports between the files of a crate `a-b`, as `from:line -> to`.
fn arrows(files: &[(&str, &str)]) -> Vec<String> {
    let paths: Vec<String> = files
        .iter()
        .map(|(path, _)| format!("a-b/src/{path}"))
        .collect();
    let files: Vec<(&str, &str)> = paths
        .iter()
        .zip(files)
        .map(|(path, (_, text))| (path.as_str(), *text))
        .collect();
    let arrows = Modules::read(&Tree::of(&files), "a-b").arrows();
    let describe = |it: &Arrow| format!("{}:{} -> {}", it.from, it.line, it.to);
    arrows.iter().map(describe).collect()
}

#[test]
fn an_import_leads_to_the_file_that_defines_the_item() {
    assert_eq!(
        arrows(&[
            ("lib.rs", "mod c;\nmod d;"),
            ("c.rs", "use crate::d::D;"),
            ("d/mod.rs", "mod e;\npub use e::D;"),
            ("d/e.rs", "pub struct D;"),
        ]),
        ["c.rs:1 -> d/e.rs"]
    );
}

#[test]
fn a_table_of_contents_imports_nothing() {
    let files = [
        ("lib.rs", "pub mod c;\npub use c::d::D;"),
        ("c/mod.rs", "pub mod d;\npub(crate) use self::d::D;"),
        ("c/d.rs", "pub struct D;"),
    ];
    assert_eq!(arrows(&files), Vec::<String>::new());
}

#[test]
fn a_glob_reexport_of_a_module_that_is_not_below_is_an_import() {
    let files = [
        ("lib.rs", "mod c;\nmod d;\npub use c::*;"),
        ("c.rs", "\npub use crate::d::*;"),
        ("d.rs", "pub struct D;"),
    ];
    assert_eq!(arrows(&files), ["c.rs:2 -> d.rs"]);
}

#[test]
fn both_files_of_a_module_that_depends_on_a_feature_are_read_and_imported() {
    let lib = "#[cfg(a)]\nmod c;\n#[cfg(not(a))]\n#[path = \"no_c.rs\"]\nmod c;\nmod d;";
    let files = [
        ("lib.rs", "mod e;"),
        ("e/mod.rs", lib),
        ("e/c.rs", "pub fn f() {}"),
        ("e/no_c.rs", "use super::d::D;\npub fn f() {}"),
        ("e/d.rs", "pub struct D;\nfn g() { super::c::f() }"),
    ];
    assert_eq!(
        arrows(&files),
        [
            "e/d.rs:2 -> e/c.rs",
            "e/d.rs:2 -> e/no_c.rs",
            "e/no_c.rs:1 -> e/d.rs"
        ]
    );
}

#[test]
fn super_and_self_are_followed() {
    assert_eq!(
        arrows(&[
            ("lib.rs", "mod c;\npub fn f() {}"),
            ("c/mod.rs", "mod d;\nmod e;\nfn g() { self::d::D }"),
            (
                "c/d.rs",
                "use super::e;\npub struct D;\nfn h() { e::E::new() }"
            ),
            ("c/e.rs", "use super::super::f;\npub struct E;"),
        ]),
        [
            "c/d.rs:3 -> c/e.rs",
            "c/e.rs:1 -> lib.rs",
            "c/mod.rs:3 -> c/d.rs"
        ]
    );
}

#[test]
fn renamed_and_glob_reexports_are_followed() {
    assert_eq!(
        arrows(&[
            ("lib.rs", "mod c;\nmod d;\npub use d::*;"),
            ("c.rs", "use crate::{E, F as G};"),
            ("d/mod.rs", "mod e;\npub use e::{E, H as F};"),
            ("d/e.rs", "pub struct E;\npub struct H;"),
        ]),
        ["c.rs:1 -> d/e.rs"]
    );
}

#[test]
fn a_function_named_like_its_module_is_told_from_it() {
    assert_eq!(
        arrows(&[
            ("lib.rs", "mod c;\nmod d;\nmod e;\npub use d::d;"),
            ("c.rs", "use crate::d;\nfn f() { d::g() }"),
            ("d.rs", "pub fn d() {}\npub fn g() {}"),
            ("e.rs", "use crate::d::d;"),
        ]),
        ["c.rs:1 -> d.rs", "e.rs:1 -> d.rs"]
    );
}

#[test]
fn the_program_uses_the_library_by_its_name() {
    assert_eq!(
        arrows(&[
            ("lib.rs", "mod c;\npub use c::C;"),
            ("c.rs", "pub struct C;"),
            ("main.rs", "fn main() { a_b::C::new() }"),
        ]),
        ["main.rs:1 -> c.rs"]
    );
}

#[test]
fn exported_macros_are_at_the_root() {
    assert_eq!(
        arrows(&[
            ("lib.rs", "mod c;\nmod d;"),
            ("c.rs", "fn f() { crate::m!(1) }"),
            ("d.rs", "#[macro_export]\nmacro_rules! m { () => {} }"),
        ]),
        ["c.rs:1 -> d.rs"]
    );
}

#[test]
fn other_crates_and_a_name_that_leads_to_itself_end_the_search() {
    let files = [
        ("lib.rs", "mod c;"),
        (
            "c.rs",
            "use std::fs;\nuse burn::tensor;\nuse d::d;\nfn f() { fs::read() }",
        ),
    ];
    assert_eq!(arrows(&files), Vec::<String>::new());
}

#[test]
fn modules_in_braces_belong_to_their_file() {
    assert_eq!(
        arrows(&[
            ("lib.rs", "mod c;\nmod d;"),
            (
                "c.rs",
                "mod inside { use super::super::d::D; use super::E; }\nstruct E;"
            ),
            ("d.rs", "pub struct D;"),
        ]),
        ["c.rs:1 -> d.rs"]
    );
}
