//! Office documents and books: small zip files.

use std::io::{Cursor, Read, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::format::{Format, FormatOptions};
use crate::tests::doubles::{LineTranslator, Writes, translate_document};
use crate::tests::{Copies, Reverses};

const COPIES: Copies = Copies { most: 1000 };

/// Makes a zip file; the first entry is stored, as readers of OpenDocument and EPUB require.
fn zip(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::default());
    for (index, (name, text)) in entries.iter().enumerate() {
        let method = match index {
            0 => CompressionMethod::Stored,
            _ => CompressionMethod::Deflated,
        };
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(*name, options).expect("the name is new");
        let written = writer.write_all(text.as_bytes());
        written.expect("memory is writable");
    }
    writer.finish().expect("memory is writable").into_inner()
}

/// Returns the entries of a zip file, in order.
fn entries(bytes: &[u8]) -> Vec<(String, String)> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).expect("it is a zip file");
    let n_entries = archive.len();
    let entry = |index| {
        let mut entry = archive.by_index(index).expect("it can be read");
        let mut text = String::new();
        entry.read_to_string(&mut text).expect("it is text");
        (entry.name().expect("it has a name").into_owned(), text)
    };
    (0..n_entries).map(entry).collect()
}

/// Translates a zip file of two entries, the second of which has the text, and returns that.
fn translated(lines: &impl LineTranslator, format: &str, name: &str, text: &str) -> String {
    let file = zip(&[
        ("mimetype", "application/x"),
        (name, text),
        ("z/a.bin", "A dog"),
    ]);
    let format: Format = format.parse().expect("it is a format");
    let reader = format.read("a".to_owned(), Cursor::new(file), &FormatOptions::default());
    let reader = reader.expect("it is a zip file");
    let translated = translate_document(lines, reader).expect("it can be read");
    let mut found = entries(&translated);
    let names: Vec<&str> = found.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(names, ["mimetype", name, "z/a.bin"]);
    assert_eq!(found[2].1, "A dog");
    found.swap_remove(1).1
}

const P: &str = "<w:p w:rsidR=\"1\"><w:pPr><w:jc w:val=\"left\"/></w:pPr>";

/// Checks the translation of a paragraph of Word, and that a copy is the document.
fn word(content: &str, expected: &str) {
    let document = |content: &str| {
        format!(
            "<?xml version=\"1.0\"?>\n<w:document><w:body>{P}{content}</w:p></w:body></w:document>"
        )
    };
    let name = "word/document.xml";
    let source = document(content);
    assert_eq!(translated(&COPIES, "docx", name, &source), source);
    let reversed = translated(&Reverses, "docx", name, &source);
    assert_eq!(reversed, document(expected));
}

#[test]
fn runs_of_the_same_formatting_are_one_sentence() {
    word(
        "<w:r w:rsidR=\"2\"><w:t xml:space=\"preserve\">A do</w:t></w:r><w:proofErr/><w:r><w:rPr><w:lang w:val=\"en\"/>\
         </w:rPr><w:t>g runs</w:t></w:r><w:r><w:t>.</w:t></w:r>",
        "<w:r><w:t>RUNS DOG A.</w:t></w:r>",
    );
}

#[test]
fn formatting_stays_on_its_words() {
    word(
        "<w:r><w:t xml:space=\"preserve\">A </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>brown</w:t></w:r>\
         <w:r><w:rPr><w:b/></w:rPr><w:t xml:space=\"preserve\"> dog</w:t></w:r>\
         <w:r><w:t xml:space=\"preserve\"> &amp; two cats run.</w:t></w:r>",
        "<w:r><w:t xml:space=\"preserve\">RUN CATS TWO &amp; </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>DOG BROWN</w:t></w:r>\
         <w:r><w:t xml:space=\"preserve\"> A.</w:t></w:r>",
    );
}

#[test]
fn links_are_pairs_and_their_fields_stay_whole() {
    let link =
        |text: &str| format!("<w:hyperlink r:id=\"1\"><w:r><w:t>{text}</w:t></w:r></w:hyperlink>");
    word(
        &format!(
            "<w:r><w:t xml:space=\"preserve\">See </w:t></w:r>{}<w:r><w:t xml:space=\"preserve\"> here</w:t></w:r>",
            link("a dog")
        ),
        &format!(
            "<w:r><w:t xml:space=\"preserve\">HERE </w:t></w:r>{}<w:r><w:t xml:space=\"preserve\"> SEE</w:t></w:r>",
            link("DOG A")
        ),
    );
    let begin = "<w:r><w:fldChar w:fldCharType=\"begin\"/></w:r><w:r><w:instrText>HYPERLINK \"x\"</w:instrText></w:r>\
                 <w:r><w:fldChar w:fldCharType=\"separate\"/></w:r>";
    let end = "<w:r><w:fldChar w:fldCharType=\"end\"/></w:r>";
    word(
        &format!(
            "<w:r><w:t xml:space=\"preserve\">See </w:t></w:r>{begin}<w:r><w:t>a dog</w:t></w:r>{end}<w:r><w:t xml:space=\"preserve\"> here</w:t></w:r>"
        ),
        &format!(
            "<w:r><w:t xml:space=\"preserve\">HERE </w:t></w:r>{begin}<w:r><w:t>DOG A</w:t></w:r>{end}<w:r><w:t xml:space=\"preserve\"> SEE</w:t></w:r>"
        ),
    );
}

#[test]
fn tabs_notes_and_deleted_text_are_copied() {
    let note = "<w:r><w:rPr><w:rStyle w:val=\"n\"/></w:rPr><w:footnoteReference w:id=\"1\"/></w:r>";
    word(
        &format!(
            "<w:r><w:t>A dog</w:t></w:r>{note}<w:r><w:tab/><w:t>runs</w:t></w:r><w:del><w:r><w:delText>no</w:delText></w:r></w:del>"
        ),
        &format!(
            "<w:r><w:t>RUNS DOG</w:t></w:r>{note}<w:r><w:tab/><w:t xml:space=\"preserve\"> A</w:t></w:r><w:del><w:r><w:delText>no</w:delText></w:r></w:del>"
        ),
    );
}

#[test]
fn text_boxes_inside_paragraphs_are_translated() {
    let shape = |text: &str| {
        format!(
            "<w:r><w:pict><w:txbxContent><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:txbxContent></w:pict></w:r>"
        )
    };
    word(&shape("a dog"), &shape("DOG A"));
    word(
        &format!("{}<w:r><w:t>two cats</w:t></w:r>", shape("a dog")),
        &shape("DOG A").replace("</w:pict></w:r>", "</w:pict><w:t>CATS TWO</w:t></w:r>"),
    );
}

#[test]
fn slides_and_sheets_are_runs_too() {
    let slide =
        |text: &str| format!("<p:sld><a:p><a:pPr/>{text}<a:endParaRPr lang=\"en\"/></a:p></p:sld>");
    let found = translated(
        &Reverses,
        "pptx",
        "ppt/slides/slide12.xml",
        &slide(
            "<a:r><a:rPr lang=\"en\" b=\"1\"/><a:t>A dog</a:t></a:r><a:r><a:rPr b=\"1\"/><a:t> runs</a:t></a:r>",
        ),
    );
    assert_eq!(
        found,
        slide("<a:r><a:rPr b=\"1\"/><a:t>RUNS DOG A</a:t></a:r>")
    );
    let sheet = |a: &str, b: &str| {
        format!(
            "<sst><si><t>{a}</t></si><si><t>12</t></si><si><r><t>x </t></r><r><rPr><b/></rPr><t>{b}</t></r></si></sst>"
        )
    };
    let found = translated(
        &Reverses,
        "xlsx",
        "xl/sharedStrings.xml",
        &sheet("A dog", "cats"),
    );
    assert!(
        found.starts_with("<sst><si><t>DOG A</t></si><si><t>12</t></si><si><r>"),
        "{found}"
    );
    let runs = "<r><rPr><b/></rPr><t xml:space=\"preserve\">CATS </t></r><r><t>X</t></r>";
    assert!(found.contains(runs), "{found}");
}

#[test]
fn paragraphs_of_open_document_have_notes_inside() {
    let text = |a: &str| {
        format!(
            "<office:text><text:p text:style-name=\"P\">{a}</text:p><text:p>12</text:p></office:text>"
        )
    };
    let source = text(
        "A <text:span s=\"b\">brown</text:span><text:span s=\"b\"> dog</text:span> runs\
         <text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Two cats</text:p></text:note-body></text:note>.",
    );
    assert_eq!(translated(&COPIES, "odt", "content.xml", &source), source);
    let expected = text(
        "RUNS<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>CATS TWO</text:p></text:note-body></text:note> \
         <text:span s=\"b\">DOG BROWN</text:span> A.",
    );
    assert_eq!(
        translated(&Reverses, "odt", "content.xml", &source),
        expected
    );
}

#[test]
fn pages_of_a_book_are_html() {
    let page = |text: &str| format!("<html xmlns=\"x\"><head/><body><p>{text}</p></body></html>");
    let found = translated(
        &Reverses,
        "epub",
        "OEBPS/a.xhtml",
        &page("A <b>dog</b><br/> runs."),
    );
    assert!(
        found.contains("<b>DOG</b>") && found.starts_with("<html xmlns=\"x\"><head/>"),
        "{found}"
    );
}

#[test]
fn a_file_that_is_no_zip_file_is_refused() {
    let format: Format = "docx".parse().expect("it is a format");
    let read = format.read(
        "a".to_owned(),
        Cursor::new(b"PK".to_vec()),
        &FormatOptions::default(),
    );
    let message = read.expect_err("it is too short").to_string();
    assert!(
        message.starts_with("a, line 1: expected a zip file: "),
        "{message}"
    );
}

#[test]
fn an_entry_that_unpacks_to_too_much_is_refused() {
    let text = "<w:p>".repeat((1 << 26) / 5 + 1);
    let file = zip(&[("a", ""), ("word/document.xml", &text)]);
    assert!(file.len() < 1 << 20);
    let format: Format = "docx".parse().expect("it is a format");
    let reader = format.read("a".to_owned(), Cursor::new(file), &FormatOptions::default());
    let error = reader
        .expect("it is a zip file")
        .window()
        .expect_err("it is too large");
    let message = error.to_string();
    assert!(
        message.starts_with("a, `word/document.xml`, line 1: it has more than 67108864 bytes"),
        "{message}"
    );
}

#[test]
fn passages_that_are_nested_too_deeply_are_copied() {
    let nested = |n: usize, text: &str| {
        let (open, close) = ("<w:p><w:r>".repeat(n), "</w:r></w:p>".repeat(n));
        format!("{open}<w:t>{text}</w:t>{close}")
    };
    let read = |text: &str| translated(&Reverses, "docx", "word/document.xml", text);
    assert_eq!(read(&nested(8, "a dog")), nested(8, "DOG A"));
    assert_eq!(read(&nested(250, "a dog")), nested(250, "a dog"));
}

#[test]
fn tags_may_be_long_and_paragraphs_may_not() {
    let field = |text: &str| {
        let code = "x".repeat(9000);
        format!("<w:p><w:fldSimple w:instr=\"{code}\"/><w:r><w:t>{text}</w:t></w:r></w:p>")
    };
    let read = |text: &str| translated(&Reverses, "docx", "word/document.xml", text);
    assert_eq!(read(&field("a dog")), field("DOG A"));

    let text = format!(
        "<root>\n<data><value>{}</value></data></root>",
        "dog ".repeat(1 << 18)
    );
    let format: Format = "resx".parse().expect("it is a format");
    let reader = format.read("a".to_owned(), Cursor::new(text), &FormatOptions::default());
    let error = translate_document(&Reverses, reader.expect("it can be read"));
    assert_eq!(
        error.expect_err("it is too large").to_string(),
        "a, line 2: the element `value` has more than 1048576 bytes of text and markup, the limit; divide the document"
    );
}

#[test]
fn elements_of_books_may_end_in_their_start_tags() {
    let page = |text: &str| {
        format!(
            "<html><head><title/><script src=\"x.js\"/></head><body><p>{text}</p></body></html>"
        )
    };
    let found = translated(
        &Reverses,
        "epub",
        "a.xhtml",
        &page("A <a id=\"p12\"/>dog runs"),
    );
    assert!(found.contains("DOG") && !found.contains("</a>"), "{found}");
    assert!(found.starts_with("<html><head><title/><script src=\"x.js\"/></head><body><p>RUNS"));
}

#[test]
fn readings_and_properties_of_tags_do_not_move() {
    let tag = |text: &str| {
        format!("<w:smartTag><w:smartTagPr/><w:r><w:t>{text}</w:t></w:r></w:smartTag>")
    };
    let run = |text: &str| format!("<w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r>");
    word(
        &format!("{}{}{}", run("a "), tag("brown dog"), run(" runs")),
        &format!("{}{}{}", run("RUNS "), tag("DOG BROWN"), run(" A")),
    );
    let sheet = |runs: &str| format!("<sst><si>{runs}<phoneticPr/></si></sst>");
    let source = sheet("<r><t>a</t></r><rPh sb=\"0\" eb=\"1\"><t>b</t></rPh><r><t> dog</t></r>");
    let found = translated(&Reverses, "xlsx", "xl/sharedStrings.xml", &source);
    assert_eq!(found, sheet("<r><t>DOG A</t></r>"));
}

#[test]
fn names_of_columns_of_tables_are_copied() {
    let strings =
        |text: &str| format!("<sst><si><t>A &amp; dog</t></si><si><t>{text}</t></si></sst>");
    let comments = |text: &str| format!("<comments><text><t>{text}</t></text></comments>");
    let table =
        "<table><tableColumns><tableColumn id=\"1\" name=\"A &amp; dog\"/></tableColumns></table>";
    let file = zip(&[
        ("xl/sharedStrings.xml", &strings("two cats")),
        ("xl/tables/table1.xml", table),
        ("xl/comments/comment1.xml", &comments("two cats")),
    ]);
    let format: Format = "xlsx".parse().expect("it is a format");
    let reader = format.read("a".to_owned(), Cursor::new(file), &FormatOptions::default());
    let translated = translate_document(&Reverses, reader.expect("it is a zip file"));
    let found = entries(&translated.expect("it can be read"));
    let texts: Vec<&str> = found.iter().map(|it| it.1.as_str()).collect();
    assert_eq!(texts, [&strings("CATS TWO"), table, &comments("CATS TWO")]);
}

#[test]
fn line_breaks_separate_words_from_punctuation() {
    let lines = Writes::new(|line| {
        assert_eq!(line.text, "See a dog --here");
        line.text.to_owned()
    });
    let text = "<w:p><w:r><w:t>See a dog</w:t><w:br/><w:t>--here</w:t></w:r></w:p>";
    assert_eq!(translated(&lines, "docx", "word/document.xml", text), text);
}

#[test]
fn text_with_markup_or_entities_of_the_document_is_copied() {
    for content in ["<w:x>A cat</w:x>", "a &cat; b", "<![CDATA[a <cat>]]>"] {
        let copied = format!("<w:r><w:t>{content}</w:t></w:r>");
        word(
            &format!("<w:r><w:t xml:space=\"preserve\">See dogs </w:t></w:r>{copied}"),
            &format!("<w:r><w:t xml:space=\"preserve\">DOGS SEE </w:t><w:t>{content}</w:t></w:r>"),
        );
    }
}

#[test]
fn escaped_carriage_returns_end_the_lines_of_a_cell() {
    let strings = |a: &str| format!("<sst><si><t>{a}</t></si></sst>");
    let found = translated(
        &Reverses,
        "xlsx",
        "xl/sharedStrings.xml",
        &strings("A dog_x000D_\nTwo cats_x000D_\n"),
    );
    assert_eq!(found, strings("DOG A_x000D_\nCATS TWO_x000D_\n"));
}
