//! Catalogs of gettext.

use crate::Part;
use crate::format::{Filled, Format, FormatOptions, PoOptions};
use proptest::prelude::*;

use super::check::{self, File, assert_is_sound, exchange, fixture, texts, with_texts, written};

const OVERWRITE: PoOptions = PoOptions {
    filled: Filled::Overwrite,
    fuzzy: false,
};

fn read_with(options: PoOptions, text: &[u8]) -> check::Read {
    let options = FormatOptions {
        po: options,
        ..FormatOptions::default()
    };
    check::read(Format::Po, &options, text)
}

fn parts(text: &str) -> Vec<Part> {
    read_with(PoOptions::default(), text.as_bytes()).expect("it is a catalog")
}

fn error(text: &str) -> String {
    let read = read_with(PoOptions::default(), text.as_bytes());
    read.expect_err("it is not a catalog").to_string()
}

#[test]
fn the_messages_without_translation_are_passages() {
    let expected = [
        "Open the album",
        "%d photograph was deleted.",
        "%d photographs were deleted.",
        "%d photographs were deleted.",
        "The file \"%s\" could not be read. Check the disk,\tand try again.",
        "Nothing was changed.",
        "Undo",
    ];
    assert_eq!(texts(&parts(&fixture("messages.po"))), expected);
}

#[test]
fn a_translation_is_written_into_msgstr() {
    let changed = with_texts(&parts("msgid \"A \\\"b\\\"\"\nmsgstr \"\"\n"), exchange);
    assert_eq!(
        written(&changed),
        "msgid \"A \\\"b\\\"\"\nmsgstr \"A \\\"b\\\"\"\n"
    );
}

#[test]
fn lines_are_written_as_gettext_writes_them() {
    let changed = with_texts(
        &parts("msgid \"a\\nb\\n\"\r\nmsgstr \"\"\r\n"),
        str::to_uppercase,
    );
    let expected = "msgid \"a\\nb\\n\"\r\nmsgstr \"\"\r\n\"A\\n\"\r\n\"B\\n\"\r\n";
    assert_eq!(written(&changed), expected);
}

#[test]
fn filled_translations_are_overwritten_on_request() {
    let text = "msgid \"a\"\nmsgstr \"\"\n\"old\"\n";
    assert!(texts(&parts(text)).is_empty());
    let overwritten = read_with(OVERWRITE, text.as_bytes()).expect("it is a catalog");
    assert_eq!(written(&overwritten), "msgid \"a\"\nmsgstr \"a\"\n");
}

#[test]
fn fuzzy_is_added_where_there_is_a_translation() {
    let options = PoOptions {
        fuzzy: true,
        ..PoOptions::default()
    };
    let text = "# c\n#, c-format\nmsgid \"a\"\nmsgstr \"\"\n\n#. d\nmsgid \"b\"\nmsgstr \"\"\n\nmsgid \"c\"\nmsgstr \"C\"\n";
    let parts = read_with(options, text.as_bytes()).expect("it is a catalog");
    let expected = "# c\n#, fuzzy, c-format\nmsgid \"a\"\nmsgstr \"a\"\n\n#. d\n#, fuzzy\nmsgid \"b\"\nmsgstr \"b\"\n\nmsgid \"c\"\nmsgstr \"C\"\n";
    assert_eq!(written(&parts), expected);
}

#[test]
fn a_message_without_msgstr_is_refused_with_its_line() {
    let message = error("\nmsgid \"a\"\n\nmsgid \"b\"\nmsgstr \"\"\n");
    assert!(message.starts_with("test, line 4: "), "{message}");
}

#[test]
fn a_string_that_does_not_end_is_refused_with_its_line() {
    let message = error("msgid \"a\"\nmsgstr \"\\\"\n");
    assert!(message.starts_with("test, line 2: "), "{message}");
}

#[test]
fn the_charset_of_a_catalog_is_utf8_or_becomes_it() {
    let header = |charset: &str| {
        format!("msgid \"\"\nmsgstr \"\"\n\"Content-Type: text/plain; charset={charset}\\n\"\n")
    };
    for charset in ["UTF-8", "utf-8", "utf8"] {
        assert_eq!(written(&parts(&header(charset))), header(charset));
    }
    for charset in ["CHARSET", "ASCII", "us-ascii"] {
        assert_eq!(written(&parts(&header(charset))), header("UTF-8"));
    }
    let message = error(&format!("# c\n{}", header("ISO-8859-1")));
    assert_eq!(
        message,
        "test, line 4: the catalog declares its charset as `ISO-8859-1`, expected UTF-8; convert it with `msgconv --to-code=UTF-8`"
    );
}

#[test]
fn a_form_for_many_numbers_is_translated_from_the_plural() {
    let forms = |formula: &str, n_forms: usize| {
        let mut text = format!(
            "msgid \"\"\nmsgstr \"Plural-Forms: nplurals={n_forms}; plural={formula};\\n\"\n\n"
        );
        text.push_str("msgid \"One dog\"\nmsgid_plural \"%d dogs\"\n");
        for form in 0..n_forms {
            text.push_str(&format!("msgstr[{form}] \"\"\n"));
        }
        texts(&parts(&text))
            .iter()
            .map(|text| (*text).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(forms("0", 1), ["%d dogs"]);
    assert_eq!(forms("(n != 1)", 2), ["One dog", "%d dogs"]);
    assert_eq!(forms("n > 1", 2), ["One dog", "%d dogs"]);
    let polish = "(n==1 ? 0 : n%10>=2 && n%10<=4 ? 1 : 2)";
    assert_eq!(forms(polish, 3), ["One dog", "%d dogs", "%d dogs"]);
    // 1, 21, 31 and so on.
    let russian = "(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 ? 1 : 2)";
    assert_eq!(forms(russian, 3), ["%d dogs"; 3]);
}

#[test]
fn labels_are_passages_and_stay_lines() {
    let read = parts("msgid \"Name\\nStreet\\nTwo dogs\"\nmsgstr \"\"\n");
    assert_eq!(texts(&read), ["Name", "Street", "Two dogs"]);
    let written = written(&with_texts(&read, str::to_uppercase));
    assert!(
        written.ends_with("\"NAME\\n\"\n\"STREET\\n\"\n\"TWO DOGS\"\n"),
        "{written}"
    );
}

const SPECIAL: [&str; 20] = [
    "\"",
    "\\",
    "\\n",
    "\\n\\n",
    "\\t",
    "\\\"",
    "\\x41",
    "\n",
    "\r\n",
    "\n\n",
    "msgid \"x y\"\n",
    "msgstr \"\"\n",
    "msgstr[1] \"\"\n",
    "msgctxt \"c\"\n",
    "\"more text\"\n",
    "#, fuzzy\n",
    "#~ ",
    "# ",
    " ",
    "\u{feff}",
];

/// Removes what is translated, and fails if the rest of a file changed.
fn check_bytes(bytes: &[u8]) {
    let Ok(parts) = read_with(PoOptions::default(), bytes) else {
        return;
    };
    assert_is_sound(&parts);
    let filled = written(&with_texts(&parts, exchange));
    let again = read_with(PoOptions::default(), filled.as_bytes()).expect("it is a catalog");
    assert!(
        texts(&again).is_empty(),
        "each message has a translation: {filled}"
    );
    assert_eq!(written(&again), filled);
    // Copied translations are spelled as those of a file that has them.
    let copied = written(&parts);
    let overwritten = read_with(OVERWRITE, filled.as_bytes()).expect("it is a catalog");
    for text in texts(&parts) {
        assert!(texts(&overwritten).contains(&text));
    }
    if texts(&parts).is_empty() {
        assert_eq!(copied.as_bytes(), bytes);
    }
}

proptest! {
    #[test]
    fn changed_catalogs_are_filled_once(file in check::mutated(fixture("messages.po"), &SPECIAL)) {
        let File(bytes) = file;
        check_bytes(&bytes);
    }

    #[test]
    fn catalogs_with_all_translations_are_copied(
        messages in prop::collection::vec(("[a-z]{1,5}", "[a-z\\\\n ]{0,5}x"), 1..8),
    ) {
        let message = |(id, translation): &(String, String)| {
            let translation = translation.replace('\\', "\\\\");
            format!("msgid \"{id}\"\nmsgstr \"{translation}\"\n\n")
        };
        let text: String = messages.iter().map(message).collect();
        prop_assert_eq!(written(&parts(&text)), text);
    }
}
