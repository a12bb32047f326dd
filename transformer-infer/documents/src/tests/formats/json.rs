//! JSON.

use crate::Part;
use crate::format::{Format, FormatOptions, JsonOptions};
use proptest::prelude::*;
use serde_json::Value;

use super::check::{
    self, File, assert_is_sound, assert_reads_back, exchange, fixture, texts, with_texts, written,
};

fn read_with(options: JsonOptions, text: &[u8]) -> check::Read {
    let options = FormatOptions {
        json: options,
        ..FormatOptions::default()
    };
    check::read(Format::Json, &options, text)
}

fn json(text: &str) -> check::Read {
    read_with(JsonOptions::default(), text.as_bytes())
}

fn parts(text: &str) -> Vec<Part> {
    json(text).expect("it is JSON")
}

fn error(text: &str) -> String {
    json(text).expect_err("it is not JSON").to_string()
}

#[test]
fn values_are_passages_and_keys_are_not() {
    let parts = parts(r#"{"one": "first", "two": {"three": ["second", 3]}}"#);
    assert_eq!(texts(&parts), ["first", "second"]);
}

#[test]
fn metadata_of_arb_is_not_translated() {
    let parts = parts(r#"{"a": "A", "@a": {"description": "no", "x": ["no"]}, "b": "B"}"#);
    assert_eq!(texts(&parts), ["A", "B"]);
}

#[test]
fn only_included_keys_are_translated_with_all_below_them() {
    let options = JsonOptions {
        include: vec!["message".to_owned(), "t*".to_owned()],
        ..JsonOptions::default()
    };
    let text = br#"{"app": {"message": "yes", "description": "no"}, "texts": {"a": ["too"]}}"#;
    let parts = read_with(options, text).expect("it is JSON");
    assert_eq!(texts(&parts), ["yes", "too"]);
}

#[test]
fn wrapped_lines_are_one_passage_and_other_lines_are_apart() {
    let parts =
        parts(r#"["Two old dogs that\nrun.\n\nc", "Name\nStreet", "Run:\n- a dog\n- {x}"]"#);
    let expected = [
        "Two old dogs that run.",
        "c",
        "Name",
        "Street",
        "Run:",
        "a dog",
        "{x}",
    ];
    assert_eq!(texts(&parts), expected);
}

#[test]
fn a_translation_is_spelled_as_its_source() {
    let parts = parts(r#"["caf\u00e9 a\/e", "cafe a/e"]"#);
    let changed = with_texts(&parts, |text| text.replace("caf", "ü\"\u{1f302}"));
    let expected = r#"["\u00fc\"\ud83c\udf02\u00e9 a\/e", "ü\"🌂e a/e"]"#;
    assert_eq!(written(&changed), expected);
}

#[test]
fn entities_are_characters_and_are_written_as_they_were() {
    let text = r#"["A man&#39;s dog &amp; a cat run&hellip; &copy; caf\u00e9 R&D"]"#;
    let parts = parts(text);
    assert_eq!(texts(&parts), ["A man's dog & a cat run café R&D"]);
    let changed = with_texts(&parts, |text| text.replace("café", "c'f&"));
    assert!(
        written(&changed).contains("&copy; c&#39;f&amp; R&amp;D"),
        "{}",
        written(&changed)
    );
}

#[test]
fn half_a_surrogate_pair_is_verbatim() {
    let text = r#"["a\ud83c", "b"]"#;
    assert_eq!(texts(&parts(text)), ["b"]);
}

#[test]
fn errors_name_line_and_column() {
    let message = error("{\"a\": 1,\n \"b\" 2}");
    assert!(
        message.starts_with("test, line 2: column 6: expected `:`, found `2`;"),
        "{message}"
    );
}

#[test]
fn deep_nesting_is_refused() {
    let message = error(&"[".repeat(100_000));
    assert!(message.contains("512 deep"), "{message}");
}

#[test]
fn the_deepest_nesting_is_read() {
    let text = format!("{}\"a\"{}", "[".repeat(512), "]".repeat(512));
    assert_eq!(texts(&parts(&text)), ["a"]);
}

#[test]
fn a_long_string_is_refused_with_its_first_line() {
    let message = error(&format!("[\n\"{}\"]", "a".repeat((1 << 20) + 1)));
    assert!(
        message.starts_with("test, line 2: column 1: a string"),
        "{message}"
    );
}

#[test]
fn bytes_that_are_not_utf8_are_refused_with_their_line() {
    let read = read_with(JsonOptions::default(), b"[\n\"\xff\"]");
    let message = read.expect_err("it is not UTF-8").to_string();
    assert_eq!(
        message,
        "test, line 2: byte 2 of the line is not UTF-8; convert the file, for example with `iconv -f LATIN1 -t UTF-8` \
         if that is its encoding"
    );
}

/// Replaces the strings that are translated in a parsed document.
fn exchange_values(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(exchange(&text)),
        Value::Array(values) => values.into_iter().map(exchange_values).collect(),
        Value::Object(entries) => {
            let exchanged = |(key, value): (String, Value)| {
                let is_metadata = key.starts_with('@');
                (
                    key,
                    if is_metadata {
                        value
                    } else {
                        exchange_values(value)
                    },
                )
            };
            entries.into_iter().map(exchanged).collect()
        }
        value => value,
    }
}

/// Compares with serde_json: both accept the file, and read the same values from the translation.
fn compare_with_serde(bytes: &[u8]) {
    let read = read_with(JsonOptions::default(), bytes);
    let unmarked = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    match (read, serde_json::from_slice::<Value>(unmarked)) {
        // Tags in strings, as in `<r>`, are copied; serde_json knows nothing of them.
        (Ok(_), Ok(_)) if bytes.contains(&b'<') => {}
        (Ok(parts), Ok(value)) => {
            let changed = written(&with_texts(&parts, exchange));
            let changed: Value =
                serde_json::from_str(changed.trim_start_matches('\u{feff}')).expect("it is JSON");
            assert_eq!(changed, exchange_values(value));
        }
        (Ok(_), Err(error)) => {
            // serde_json has no text for half a surrogate pair, and no number for some that are valid.
            let message = error.to_string();
            let is_known = [
                "surrogate",
                "hex escape",
                "number out of range",
                "recursion limit",
            ]
            .iter()
            .any(|known| message.contains(known));
            assert!(is_known, "{message}");
        }
        (Err(error), Ok(_)) => panic!("serde_json reads this: {error}"),
        (Err(_), Err(_)) => {}
    }
}

const SPECIAL: [&str; 26] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u00e9",
    "\\ud83c",
    "\\n",
    "\\n\\n",
    "\\/",
    "1",
    "-",
    "0",
    "e5",
    ".",
    "null",
    "\"a\": \"b c\",",
    "\"@k\": \"v\",",
    "[\"x y\"],",
    "\n",
    " ",
    "\t",
    "\u{feff}",
];

fn check_bytes(bytes: &[u8]) {
    if let Ok(parts) = read_with(JsonOptions::default(), bytes) {
        assert_is_sound(&parts);
        assert_eq!(written(&parts).as_bytes(), bytes);
        assert_reads_back(&parts, json);
    }
    compare_with_serde(bytes);
}

/// JSON of any shape.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i32>().prop_map(Value::from),
        any::<String>().prop_map(|text| Value::from(text.replace('<', "‹"))),
        "[a-e\n\"\\\\/ é🌂]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::hash_map("[@a-c]{1,3}", inner, 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn changed_files_are_copied_and_read_back(file in check::mutated(fixture("strings.json"), &SPECIAL)) {
        let File(bytes) = file;
        check_bytes(&bytes);
    }

    #[test]
    fn documents_of_serde_json_are_copied_and_read_back(value in value(), is_pretty: bool) {
        let text = if is_pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) };
        check_bytes(&text.expect("values are valid"));
    }
}
