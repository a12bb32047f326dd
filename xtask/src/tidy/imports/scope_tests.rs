//! Tests of [`Scope`](super::scope::Scope).

use super::scope::{Import, Scope};

fn imports(source: &str) -> Vec<String> {
    let describe = |it: &Import| format!("{} as {}", it.path.names.join("::"), it.name);
    Scope::of(source).imports.iter().map(describe).collect()
}

fn paths(source: &str) -> Vec<String> {
    let scope = Scope::of(source);
    scope.paths.iter().map(|it| it.names.join("::")).collect()
}

#[test]
fn nested_imports_are_taken_apart() {
    assert_eq!(
        imports("use crate::{a::{self, B as C}, d::*};\nuse super::e;"),
        [
            "crate::a as a",
            "crate::a::B as C",
            "crate::d as *",
            "super::e as e"
        ]
    );
}

#[test]
fn imports_in_functions_are_found_with_their_line() {
    let scope = Scope::of("fn f() {\n    use crate::a::B;\n}");
    assert_eq!(scope.imports[0].path.line, 2);
}

#[test]
fn captured_lifetimes_are_no_imports() {
    assert!(imports("fn f() -> impl Sized + use<'a, T> { todo }").is_empty());
}

#[test]
fn only_imports_with_a_visibility_are_reexports() {
    let scope =
        Scope::of("use a::B;\npub(crate) use c::D;\npub use e::F;\npub fn g() {}\nuse h::I;");
    let reexports = scope.imports.iter().map(|it| it.is_reexport);
    assert_eq!(reexports.collect::<Vec<_>>(), [false, true, true, false]);
}

#[test]
fn paths_in_types_and_expressions_are_found() {
    let source = "fn f(x: a::B) -> Vec<c::D> { <E as g::H>::new(Vec::<i::J>::new(), x.k::<L>()) }";
    assert_eq!(paths(source), ["a::B", "c::D", "g::H", "i::J"]);
}

#[test]
fn visibilities_and_paths_outside_of_the_crate_are_left_out() {
    assert!(paths("pub(in crate::a) fn f() { ::b::c() }").is_empty());
    assert_eq!(imports("use ::a::B;"), ["::a::B as B"]);
}

#[test]
fn items_are_found_and_the_members_of_items_are_not() {
    let scope = Scope::of(
        "pub const fn a() {}\nstruct B { c: u8 }\nimpl B { fn d() {} }\n\
         macro_rules! e { () => {} }\n#[macro_export]\nmacro_rules! f { () => {} }",
    );
    assert_eq!(scope.defined, ["a", "B", "e"]);
    assert_eq!(scope.exported_macros, ["f"]);
}

#[test]
fn modules_in_files_and_in_braces_are_told_apart() {
    let scope = Scope::of("mod a;\npub mod b { use super::C; }\nfn d() {}");
    assert_eq!(scope.children[0].name, "a");
    assert_eq!(scope.children[0].inline, None);
    let inline = scope.children[1].inline.as_ref();
    assert_eq!(inline.map(|it| it.imports.len()), Some(1));
    assert_eq!(scope.defined, ["d"]);
}

#[test]
fn code_for_tests_is_left_out() {
    let source = "#[cfg(test)]\nmod tests { use crate::a; }\n#[cfg(test)]\n#[derive(Debug)]\nuse b::{C, D};\n\
                  #[cfg(all(test, unix))]\nfn e<F, G>() { h::i() }\n#[cfg(not(test))]\nuse j::K;";
    let scope = Scope::of(source);
    assert!(scope.children.is_empty() && scope.defined.is_empty() && scope.paths.is_empty());
    assert_eq!(imports(source), ["j::K as K"]);
    assert_eq!(Scope::of("#![cfg(test)]\nuse a::B;"), Scope::default());
}

#[test]
fn code_for_tests_or_under_another_condition_is_read() {
    let source = "#[cfg(any(test, feature = \"a\"))]\nuse b::C;\n#[cfg(all(unix, any(test, d)))]\nuse e::F;\n\
                  #[cfg(all(unix, test))]\nuse g::H;";
    assert_eq!(imports(source), ["b::C as C", "e::F as F"]);
}

#[test]
fn paths_in_attributes_are_found() {
    let source = "#[derive(a::B)]\nstruct C {\n    #[arg(value_parser = d::e())]\n    f: u8,\n    \
                  #[serde(with = \"g::h\", rename = \"i\")]\n    j: u8,\n}\n\
                  #[expect(lint, reason = \"k::l is a word here\")]\n#[cfg(test)]\n#[m(n::o)]\nfn p() {}";
    assert_eq!(paths(source), ["a::B", "d::e", "g::h"]);
    assert_eq!(Scope::of(source).paths[2].line, 5);
}

#[test]
fn the_file_of_a_path_attribute_belongs_to_the_next_module() {
    let scope = Scope::of("#[cfg(a)]\n#[path = \"b.rs\"]\nmod c;\nmod d;");
    assert_eq!(scope.children[0].path.as_deref(), Some("b.rs"));
    assert_eq!(scope.children[1].path, None);
}

#[test]
fn what_follows_a_field_for_tests_is_read() {
    assert_eq!(
        paths("struct A { #[cfg(test)] b: c::D, e: f::G }"),
        ["f::G"]
    );
}
