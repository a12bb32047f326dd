//! TSV and CSV.

use crate::format::{Column, FirstRow, Format, FormatOptions, TableOptions};
use crate::{MarkKind, Part};
use proptest::prelude::*;

use super::check::{
    self, File, assert_is_sound, assert_reads_back, fixture, texts, with_texts, written,
};

fn read_bytes(format: Format, columns: &[&str], text: &[u8]) -> check::Read {
    let columns = columns.iter().map(|column| Column::from(*column));
    read_with(format, FirstRow::Header, columns.collect(), text)
}

fn read_with(
    format: Format,
    first_row: FirstRow,
    columns: Vec<Column>,
    text: &[u8],
) -> check::Read {
    let options = FormatOptions {
        table: TableOptions { columns, first_row },
        ..FormatOptions::default()
    };
    check::read(format, &options, text)
}

fn csv(columns: &[&str], text: &str) -> check::Read {
    read_bytes(Format::Csv, columns, text.as_bytes())
}

fn csv_parts(columns: &[&str], text: &str) -> Vec<Part> {
    csv(columns, text).expect("it is CSV")
}

fn error(read: check::Read) -> String {
    read.expect_err("it is refused").to_string()
}

#[test]
fn columns_are_chosen_by_name_or_number() {
    let text = "id,title,note\n1,One,x\n2,Two,y\n";
    assert_eq!(texts(&csv_parts(&["title"], text)), ["One", "Two"]);
    assert_eq!(texts(&csv_parts(&["3"], text)), ["x", "y"]);
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_name_and_stays_inside_cells() {
    let text = "\u{feff}title,b\nA\u{feff}dog,x\n";
    let parts = csv_parts(&["title"], text);
    assert_eq!(texts(&parts), ["A\u{feff}dog"]);
    assert_eq!(written(&parts), text);
}

#[test]
fn without_columns_a_table_is_refused_with_their_list() {
    let message = error(csv(&[], "id,\"ti\"\"tle\"\n"));
    assert!(
        message.contains("the columns are 1 `id`, 2 `ti\"tle`;"),
        "{message}"
    );
}

#[test]
fn an_unknown_column_is_refused_by_name() {
    let message = error(csv(&["text"], "id,title\n"));
    assert!(
        message.starts_with("test, line 1: no column is called `text`; "),
        "{message}"
    );
}

#[test]
fn the_first_row_may_be_data() {
    let columns = vec![Column::Number(2)];
    let parts = read_with(Format::Tsv, FirstRow::Data, columns, b"1\tOne\n2\tTwo");
    assert_eq!(texts(&parts.expect("it is TSV")), ["One", "Two"]);
}

#[test]
fn blocks_and_entities_in_cells_are_read_as_in_html() {
    let text = "a\n<p>One <b>dog</b></p><p>Two &amp; x</p>\n\"<br/>Three\"\nA &amp; b\n";
    let parts = csv_parts(&["a"], text);
    let mut found = Vec::new();
    for passage in parts.iter().filter_map(|part| match part {
        Part::Passage(passage) => Some(passage),
        Part::Verbatim(_) => None,
    }) {
        found.push(passage.text.clone());
        let raws = passage.marks.iter().filter_map(|mark| match &mark.kind {
            MarkKind::Point { raw } => Some(&raw.0),
            _ => None,
        });
        found.extend(raws.flat_map(|raw| texts(raw)).map(str::to_owned));
    }
    assert_eq!(found, ["", "One dog", "Two & x", "Three", "A & b"]);
    assert_eq!(written(&parts), text);
}

#[test]
fn a_translation_gets_quotation_marks_if_it_needs_them() {
    let parts = csv_parts(&["a"], "a,b\n One ,1\n\"Two\",2\n");
    let changed = with_texts(&parts, |text| format!("{text}, \"so\""));
    let expected = "a,b\n\" One, \"\"so\"\" \",1\n\"Two, \"\"so\"\"\",2\n";
    assert_eq!(written(&changed), expected);
}

#[test]
fn a_translation_in_tsv_has_no_tabs_and_line_ends() {
    let read = read_bytes(Format::Tsv, &["a"], b"a\tb\nOne\t1\n");
    let changed = with_texts(&read.expect("it is TSV"), |text| format!("{text}\tor\ntwo"));
    assert_eq!(written(&changed), "a\tb\nOne or two\t1\n");
}

#[test]
fn wrapped_lines_of_a_cell_are_one_passage_and_its_paragraphs_are_not() {
    let parts = csv_parts(&["a"], "a\n\"One dog and a\r\ncat.\n\nThree\"\n");
    assert_eq!(texts(&parts), ["One dog and a cat.", "Three"]);
}

#[test]
fn a_row_of_another_length_is_refused_with_its_line() {
    let message = error(csv(&["a"], "a,b\n\"x\ny\",1\nz\n"));
    let expected = "test, line 4: the row has 1 cells, and the first row has 2;";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn a_quotation_mark_that_is_not_closed_is_refused_with_its_line() {
    let message = error(csv(&["a"], "a,b\n1,2\n3,\"4\n5,6\n"));
    assert!(message.starts_with("test, line 3: "), "{message}");
}

#[test]
fn text_behind_a_closing_quotation_mark_is_refused_with_its_line() {
    let message = error(csv(&["a"], "a,b\n1,\"2\"3\n"));
    assert!(message.starts_with("test, line 2: "), "{message}");
}

#[test]
fn the_catalog_has_the_texts_of_its_columns() {
    let parts = csv_parts(&["title", "description"], &fixture("products.csv"));
    let expected = [
        "Enamel camping mug",
        "Keeps coffee warm. Dishwasher safe, and \"unbreakable\".",
        "Wooden spoon",
        "Carved from one piece of beech",
        "Folding bike, 20\"",
        "Folds in ten seconds.",
        "Weighs only 11 kg.",
    ];
    assert_eq!(texts(&parts), expected);
}

const SPECIAL: [&str; 14] = [
    ",",
    ";",
    "\t",
    "\"",
    "\"\"",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\"a b\"",
    ",\"c\nd\"",
    " ",
    "\u{feff}",
    "e,f",
];

fn check_bytes(format: Format, columns: &[&str], bytes: &[u8]) {
    if let Ok(parts) = read_bytes(format, columns, bytes) {
        assert_is_sound(&parts);
        assert_eq!(written(&parts).as_bytes(), bytes);
        assert_reads_back(&parts, |text| read_bytes(format, columns, text.as_bytes()));
    }
}

/// Writes rows as RFC 4180 does, with quotation marks where they are needed or wanted.
fn write_csv(rows: &[[(String, bool); 3]], line_end: &str) -> String {
    let cell = |(text, is_quoted): &(String, bool)| {
        if *is_quoted || text.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.clone()
        }
    };
    let row =
        |row: &[(String, bool); 3]| row.iter().map(cell).collect::<Vec<_>>().join(",") + line_end;
    rows.iter().map(row).collect()
}

proptest! {
    #[test]
    fn changed_csv_is_copied_and_read_back(file in check::mutated(fixture("products.csv"), &SPECIAL)) {
        let File(bytes) = file;
        check_bytes(Format::Csv, &["3", "4"], &bytes);
    }

    #[test]
    fn changed_tsv_is_copied_and_read_back(file in check::mutated(fixture("signs.tsv"), &SPECIAL)) {
        let File(bytes) = file;
        check_bytes(Format::Tsv, &["2"], &bytes);
    }

    #[test]
    fn any_csv_is_copied_and_read_back(
        rows in prop::collection::vec(prop::array::uniform3(("[a-e,\"\r\n é]{0,8}", any::<bool>())), 1..6),
        is_windows: bool,
    ) {
        let text = write_csv(&rows, if is_windows { "\r\n" } else { "\n" });
        let parts = csv_parts(&["2"], &text);
        let n_texts = rows[1..].iter().filter(|row| row[1].0.chars().any(char::is_alphabetic)).count();
        prop_assert!(texts(&parts).len() >= n_texts);
        check_bytes(Format::Csv, &["2"], text.as_bytes());
    }
}
