//! Files of keys and values.

use proptest::prelude::*;

use super::check::{self, assert_is_sound, texts, written};
use crate::format::FormatOptions;
use crate::tests::{Reverses, translate_sentences};

fn read(format: &str, text: &str) -> check::Read {
    let format = format.parse().expect("it is a format");
    check::read(format, &FormatOptions::default(), text.as_bytes())
}

/// Checks the translation of a file, and that a copy is the file.
fn check(format: &str, source: &str, expected: &str) {
    let parts = read(format, source).expect("it can be read");
    assert_is_sound(&parts);
    assert_eq!(written(&parts), source);
    assert_eq!(translate_sentences(&Reverses, parts), expected);
}

#[test]
fn properties_keep_keys_comments_and_escapes() {
    check(
        "properties",
        "# A note\n! Another\na.b = A dog\nc:Two \\\n    cats\nd\\ e A man\\u2019s {0}\npath=12\n\n",
        "# A note\n! Another\na.b = DOG A\nc:CATS TWO\nd\\ e MAN\\u2019S A {0}\npath=12\n\n",
    );
}

#[test]
fn strings_of_apple_are_values_between_quotation_marks() {
    check(
        "strings",
        "/* A note\n \"a\" = \"no\"; */\n\"A key\" = \"A \\\"brown\\\" dog\";\n// no\nkey = \"Two %@\\ncats\";\n\"x\" = \"A man\nruns\";\n",
        "/* A note\n \"a\" = \"no\"; */\n\"A key\" = \"DOG \\\" BROWN \\\" A\";\n// no\nkey = \"TWO %@\\nCATS\";\n\"x\" = \"MAN A\nRUNS\";\n",
    );
}

#[test]
fn values_of_yaml_get_quotation_marks_if_they_need_them() {
    check(
        "yaml",
        "# A note\nen:\n  a: A dog # note\n  b: \"Two \\\"cats\\\"\"\n  c: 'A man''s dog'\n  d: true\n  e: |\n    Not this\n  f: 12\n  g:\n    - One cat\n    - *x\n  h: dogs - run\n  i:\n    - j: |\n        Not this\n      k: 3 dogs\n",
        "# A note\nen:\n  a: DOG A # note\n  b: \"\\\" CATS \\\" TWO\"\n  c: 'DOG MAN''S A'\n  d: true\n  e: |\n    Not this\n  f: 12\n  g:\n    - CAT ONE\n    - *x\n  h: RUN - DOGS\n  i:\n    - j: |\n        Not this\n      k: DOGS 3\n",
    );
    let parts = read("yml", "a: dogs no\n").expect("it can be read");
    let changed = check::with_texts(&parts, |_| "no: dogs".to_owned());
    assert_eq!(written(&changed), "a: \"no: dogs\"\n");
}

#[test]
fn escapes_of_yaml_are_not_those_of_json() {
    check(
        "yaml",
        "a: \"one\\_dog \\xe9\"\nb: \"\\x41 dog 😀\"\n",
        "a: \"\\u00e9 DOG\\u00a0ONE\"\nb: \"😀 DOG A\"\n",
    );
    let parts = read("yaml", "a: \"one \\U0001F600 dog\"\n").expect("it can be read");
    assert_eq!(texts(&parts), ["one 😀 dog"]);
    let changed = check::with_texts(&parts, |_| "😀 dog".to_owned());
    assert_eq!(written(&changed), "a: \"\\U0001f600 dog\"\n");
}

#[test]
fn values_of_yaml_over_several_lines_are_copied() {
    let copied =
        "a: two dogs\n\n  and a cat\n- one dog\n  runs\na#b c: |\n  a: dog\na's: >-\n  a: dog\n";
    check("yaml", copied, copied);
    check(
        "yaml",
        "- a: one dog\n  b: two cats\n\n- a man\n# a\nc: d dog\n",
        "- a: DOG ONE\n  b: CATS TWO\n\n- MAN A\n# a\nc: DOG D\n",
    );
}

#[test]
fn plain_values_of_yaml_that_are_passages_in_part_are_copied() {
    for source in ["a: <p>A dog</p>\n", "a: A dog<br>A cat\n"] {
        let parts = read("yaml", source).expect("it can be read");
        assert_eq!(texts(&parts), [""; 0], "{source}");
    }
}

#[test]
fn properties_are_ascii_unless_the_file_is_not() {
    let written_as = |source: &str| {
        let parts = read("properties", source).expect("it can be read");
        written(&check::with_texts(&parts, |_| "é".to_owned()))
    };
    assert_eq!(written_as("a=\\ A dog\n"), "a=\\ \\u00e9\n");
    assert_eq!(written_as("a=A dog\n# é\n"), "a=é\n# é\n");
}

#[test]
fn a_property_with_escapes_keeps_them_in_a_file_with_other_characters() {
    let text = "a = Ein Caf\u{e9}\nb = Ein Caf\\u00e9\n";
    let parts = read("properties", text).expect("it can be read");
    let changed = check::with_texts(&parts, |_| "Größe".to_owned());
    assert_eq!(written(&changed), "a = Größe\nb = Gr\\u00f6\\u00dfe\n");
}

#[test]
fn escapes_that_stand_for_no_character_are_copied() {
    for (format, text) in [
        ("properties", "a=One dog \\u+0e9\n"),
        ("strings", "\"a\" = \"One dog \\U+0e9\";\n"),
        ("properties", "a=One dog \\ud83d\\\\dc00\n"),
        ("strings", "\"a\" = \"One dog \\Ud83d\\\\dc00\";\n"),
    ] {
        let parts = read(format, text).expect("it can be read");
        assert_eq!(texts(&parts), [""; 0], "{format}");
    }
    let parts = read("strings", "\"a\" = \"One \\Ud83d\\udc00 dog\";\n").expect("it can be read");
    assert_eq!(texts(&parts), ["One \u{1f400} dog"]);
}

#[test]
fn a_string_of_many_lines_takes_linear_time() {
    let source = format!("\"a\" = \"{}\";\n", "dog\n".repeat(200_000));
    let parts = read("strings", &source).expect("it can be read");
    assert_eq!(texts(&parts).len(), 200_000);
}

#[test]
fn strings_of_apple_follow_comments_and_each_other_in_a_line() {
    check(
        "strings",
        "/* A note */ \"a\" = \"A dog\"; /* no */ \"b\" = \"A cat\"; /* no */\n/* no */ // no\n",
        "/* A note */ \"a\" = \"DOG A\"; /* no */ \"b\" = \"CAT A\"; /* no */\n/* no */ // no\n",
    );
}

#[test]
fn keys_of_yaml_have_spaces_and_signs() {
    check(
        "yaml",
        "Log in: A dog\n$t: A cat\nDon't save: dog 1\na:b c: two: dogs\n- \"a\": one dog\n",
        "Log in: DOG A\n$t: CAT A\nDon't save: 1 DOG\na:b c: two: dogs\n- \"a\": DOG ONE\n",
    );
}

#[test]
fn a_sign_in_an_attribute_does_not_end_its_tag() {
    check(
        "properties",
        "a=A <b title=\"x > y\">brown</b> dog\n",
        "a=DOG <b title=\"x > y\">BROWN</b> A\n",
    );
}

#[test]
fn files_without_line_feeds_are_refused() {
    for format in ["properties", "md"] {
        let error = read(format, "a = dog\rb = cat\r").map(drop);
        let error = error
            .expect_err("its lines cannot be told apart")
            .to_string();
        assert!(error.contains("carriage return"), "{error}");
        assert!(read(format, "a = dog\r\r\nb = cat\r\n").is_ok());
    }
}

proptest! {
    #[test]
    fn any_file_is_copied(text in "([a-c]| |=|:|#|!|\"|'|\\\\|\n|-|\\||/\\*|\\*/|;|é){0,60}", kind in 0..3_usize) {
        let parts = read(["properties", "strings", "yaml"][kind], &text).expect("it can be read");
        assert_is_sound(&parts);
        prop_assert_eq!(written(&parts), text);
        prop_assert!(texts(&parts).iter().all(|it| it.contains(char::is_alphabetic)));
    }
}
