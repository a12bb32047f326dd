//! Formats of XML with a table: resources of programs, and files of translators.

use std::io::Cursor;

use super::check;
use crate::format::{Format, FormatOptions, ReadError, XmlRules};
use crate::tests::doubles::{LineTranslator, translate_document};
use crate::tests::{Copies, Reverses};

fn read(lines: &impl LineTranslator, format: &str, text: &str) -> Result<String, ReadError> {
    let format: Format = format.parse().expect("it is a format");
    let input = Cursor::new(text.as_bytes().to_vec());
    let reader = format.read("a".to_owned(), input, &FormatOptions::default())?;
    let bytes = translate_document(lines, reader)?;
    Ok(String::from_utf8(bytes).expect("it is text"))
}

/// Checks a translation, and that a copy is the document.
fn check(format: &str, source: &str, expected: &str) {
    let copy = read(&Copies { most: 1000 }, format, source);
    assert_eq!(copy.expect("it can be read"), source);
    let found = read(&Reverses, format, source).expect("it can be read");
    assert_eq!(found, expected);
}

#[test]
fn resources_of_android_keep_escapes_and_markup() {
    let resources = |a: &str, b: &str, c: &str, d: &str| {
        format!(
            "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<resources xmlns:xliff=\"x\">\n  <!-- A note -->\n  \
             <string name=\"a\">{a}</string>\n  <string name=\"k\" translatable=\"false\">Not this</string>\n  \
             <plurals name=\"p\"><item quantity=\"one\">{b}</item><item quantity=\"other\">{c}</item></plurals>\n  \
             <string-array name=\"s\"><item>{d}</item></string-array>\n  <color name=\"c\">red</color>\n</resources>\n"
        )
    };
    check(
        "xml",
        &resources(
            "A man\\'s <b>brown</b> dog",
            "%d dog",
            "See <xliff:g id=\"n\">%1$s</xliff:g> &amp; cats",
            "One dog\\nTwo dogs",
        ),
        &resources(
            "DOG <b>BROWN</b> MAN\\'S A",
            "%d DOG",
            "CATS &amp; SEE <xliff:g id=\"n\">%1$s</xliff:g>",
            "DOG ONE\\nDOGS TWO",
        ),
    );
}

#[test]
fn resources_of_dot_net_are_values_of_strings() {
    let resources = |a: &str| {
        format!(
            "<root><resheader name=\"v\"><value>2.0 text</value></resheader><data name=\"a\" xml:space=\"preserve\">\
             <value>{a}</value><comment>A note</comment></data><data name=\"i\" type=\"x\"><value>A dog</value></data></root>"
        )
    };
    check(
        "resx",
        &resources("A {0} dog\nTwo dogs"),
        &resources("DOG A {0}\nDOGS TWO"),
    );
}

#[test]
fn empty_targets_of_xliff_are_filled() {
    let unit = |source: &str, target: &str| {
        format!(
            "<xliff version=\"1.2\"><file><body><trans-unit id=\"1\"><source>{source}</source>{target}<note>A note</note></trans-unit></body></file></xliff>"
        )
    };
    let source = "A <g id=\"1\">brown</g> dog<x id=\"2\"/>";
    let translation = "<target>DOG <g id=\"1\">BROWN</g> A<x id=\"2\"/></target>";
    for target in ["", "<target/>", "<target></target>"] {
        let found = read(&Reverses, "xlf", &unit(source, target)).expect("it can be read");
        assert_eq!(found, unit(source, translation));
    }
    let done = unit(source, "<target state=\"final\">Ein Hund</target>");
    assert_eq!(read(&Reverses, "xlf", &done).expect("it can be read"), done);
    let segment = |target: &str| {
        format!(
            "<xliff version=\"2.0\"><file><unit id=\"1\"><segment><source>A <pc id=\"1\">dog</pc></source>{target}</segment></unit></file></xliff>"
        )
    };
    let found = read(&Reverses, "xliff", &segment("")).expect("it can be read");
    assert_eq!(found, segment("<target><pc id=\"1\">DOG</pc> A</target>"));
}

#[test]
fn unfinished_translations_of_qt_are_filled() {
    let message = |translation: &str| {
        format!(
            "<!DOCTYPE TS>\n<TS version=\"2.1\" language=\"de\"><context><name>Main</name><message><location line=\"1\"/><source>&amp;Open %1</source><comment>A note</comment>{translation}</message></context></TS>\n"
        )
    };
    let found = read(
        &Reverses,
        "ts",
        &message("<translation type=\"unfinished\"></translation>"),
    );
    let expected = message("<translation type=\"unfinished\">OPEN &amp; %1</translation>");
    assert_eq!(found.expect("it can be read"), expected);
}

#[test]
fn given_rules_come_before_known_ones() {
    let rules: XmlRules = serde_json::from_str(r#"{ "passages": ["para"], "inline": ["em"] }"#)
        .expect("it is a table");
    let options = FormatOptions {
        xml: Some(rules),
        ..FormatOptions::default()
    };
    let book = |text: &str| format!("<root><id>A dog</id><para>{text}</para></root>");
    let input = Cursor::new(book("A <em>brown</em> <x>no</x> dog").into_bytes());
    let reader = Format::Xml.read("a".to_owned(), input, &options);
    let translated = translate_document(&Reverses, reader.expect("it can be read"));
    let translated = translated.expect("it can be read");
    let translated = String::from_utf8(translated).expect("it is text");
    assert_eq!(translated, book("DOG <em>BROWN</em> <x>no</x> A"));
}

#[test]
fn elements_that_are_nested_too_deeply_are_refused() {
    let text = format!("<root>{}{}</root>", "<a>".repeat(9999), "</a>".repeat(9999));
    let error = read(&Reverses, "resx", &text).expect_err("it is refused");
    assert_eq!(
        error.to_string(),
        "a, line 1: elements are nested more than 512 deep; divide the document"
    );
}

#[test]
fn another_root_is_refused() {
    let error = |format, text| {
        read(&Reverses, format, text)
            .expect_err("it is refused")
            .to_string()
    };
    assert_eq!(
        error("ts", "const a = 1;"),
        "a, line 1: expected the element `resources`, `root`, `TS`, `xliff` or `tmx` outermost, found ``; give rules for \
         another format"
    );
}

#[test]
fn quotation_marks_and_references_of_android_are_syntax() {
    let string = |text: &str| format!("<resources><string name=\"a\">{text}</string></resources>");
    for (source, expected) in [
        ("\"Don't <b>stop</b>\"", "\"<b>STOP</b> DON\\'T\""),
        ("Say \"a dog\" here", "Say \"a dog\" here"),
        ("@string/dog", "@string/dog"),
        ("?attr/dog", "?attr/dog"),
        ("One<br/>dog", "DOG ONE<br/>"),
        ("A \\u00e9 dog", "DOG é A"),
        ("A \\u+0e9 dog", "DOG A \\u+0e9"),
    ] {
        let found = read(&Reverses, "xml", &string(source)).expect("it can be read");
        assert_eq!(found, string(expected));
    }
}

#[test]
fn classes_of_the_designer_are_copied() {
    let text = "<root><data name=\"&gt;&gt;a.Name\"><value>a dog</value></data></root>";
    assert_eq!(read(&Reverses, "resx", text).expect("it can be read"), text);
}

#[test]
fn a_missing_target_comes_after_the_source_in_segments() {
    let unit = |target: &str| {
        format!(
            "<xliff><trans-unit><source>a dog</source> <seg-source><mrk>a dog</mrk></seg-source>{target}<note/></trans-unit></xliff>"
        )
    };
    let found = read(&Reverses, "xlf", &unit("")).expect("it can be read");
    assert_eq!(found, unit("<target>DOG A</target>"));
}

#[test]
fn text_of_android_does_not_become_a_reference() {
    let string = |text: &str| format!("<resources><string name=\"a\">{text}</string></resources>");
    let source = string("\\@home dog");
    let parts = check::read(Format::Xml, &FormatOptions::default(), source.as_bytes());
    let changed = check::with_texts(&parts.expect("it can be read"), |_| "?dog".to_owned());
    assert_eq!(check::written(&changed), string("\\?dog"));
}

/// Returns a translation memory of one unit, with these variants.
fn memory(srclang: &str, variants: &str) -> String {
    format!(
        "<tmx version=\"1.4\"><header srclang=\"{srclang}\"/><body><tu><note>A note</note>{variants}</tu></body></tmx>"
    )
}

const EN: &str =
    "<tuv xml:lang=\"en\"><prop type=\"x\">a</prop><seg>A <hi>dog</hi><ph>&lt;br></ph></seg></tuv>";

#[test]
fn a_missing_variant_of_a_translation_memory_is_added() {
    let options = FormatOptions {
        tgt_lang: Some("de".to_owned()),
        ..FormatOptions::default()
    };
    let input = Cursor::new(memory("en", EN).into_bytes());
    let reader = Format::Xml.read("a".to_owned(), input, &options);
    let translated = translate_document(&Reverses, reader.expect("it can be read"));
    let translated = String::from_utf8(translated.expect("it can be read"));
    let de = "<tuv xml:lang=\"de\"><seg><hi>DOG</hi> A<ph>&lt;br></ph></seg></tuv>";
    let expected = memory("en", &format!("{EN}{de}"));
    assert_eq!(translated.expect("it is text"), expected);
}

#[test]
fn empty_variants_of_a_translation_memory_are_filled() {
    let fr = "<tuv xml:lang=\"fr\"><seg>Un chien</seg></tuv>";
    let de = |seg: &str| format!("<tuv xml:lang=\"de-AT\"><prop>b</prop>{seg}</tuv>");
    for empty in ["<seg/>", "<seg></seg>"] {
        let source = memory("en", &format!("{EN}{}{fr}", de(empty)));
        let filled = de("<seg><hi>DOG</hi> A<ph>&lt;br></ph></seg>");
        let found = read(&Reverses, "tmx", &source).expect("it can be read");
        assert_eq!(found, memory("en", &format!("{EN}{filled}{fr}")));
    }
    for done in [format!("{EN}{fr}"), format!("{fr}{EN}")] {
        let source = memory("en", &done);
        assert_eq!(
            read(&Reverses, "tmx", &source).expect("it can be read"),
            source
        );
    }
}

#[test]
fn languages_of_a_translation_memory_have_no_case_and_units_have_their_own() {
    let unit = |attributes: &str, variants: &[(&str, &str)]| {
        let variants = variants
            .iter()
            .map(|(code, text)| format!("<tuv xml:lang=\"{code}\"><seg>{text}</seg></tuv>"));
        format!("<tu{attributes}>{}</tu>", variants.collect::<String>())
    };
    let memory = |units: &[String]| {
        let units = units.concat();
        format!("<tmx><header srclang=\"en-us\"/><body>{units}</body></tmx>")
    };
    let options = FormatOptions {
        tgt_lang: Some("de".to_owned()),
        ..FormatOptions::default()
    };
    let of_french = " srclang=\"FR\"";
    let source = memory(&[
        unit("", &[("en-US", "a dog"), ("den", ""), ("DE-at", "")]),
        unit(of_french, &[("en-US", "a dog"), ("fr", "un chien")]),
        unit(" srclang=\"de\"", &[("de", "ein Hund")]),
        unit("", &[("en-US", "a dog"), ("de", "Hund")]),
    ]);
    let expected = memory(&[
        unit("", &[("en-US", "a dog"), ("den", ""), ("DE-at", "DOG A")]),
        unit(
            of_french,
            &[("en-US", "a dog"), ("fr", "un chien"), ("de", "CHIEN UN")],
        ),
        unit(" srclang=\"de\"", &[("de", "ein Hund")]),
        unit("", &[("en-US", "a dog"), ("de", "Hund")]),
    ]);
    let reader = Format::Xml.read("a".to_owned(), Cursor::new(source.into_bytes()), &options);
    let translated = translate_document(&Reverses, reader.expect("it can be read"));
    let translated = String::from_utf8(translated.expect("it can be read"));
    assert_eq!(translated.expect("it is text"), expected);
}

#[test]
fn before_version_1_4_a_translation_memory_has_other_attributes() {
    let memory = |srclang: &str, de: &str| {
        format!(
            "<tmx><header srclang=\"{srclang}\"/><body><tu><tuv lang=\"de\"><seg>Hund</seg></tuv></tu>\
             <tu srclang=\"EN\"><tuv lang=\"en\"><seg>a dog</seg></tuv>{de}</tu></body></tmx>"
        )
    };
    let found = read(&Reverses, "tmx", &memory("en", "")).expect("it can be read");
    let de = "<tuv lang=\"de\"><seg>DOG A</seg></tuv>";
    assert_eq!(found, memory("en", de));
}

#[test]
fn a_translation_memory_of_all_languages_is_translated_from_the_first_other_one() {
    let options = FormatOptions {
        tgt_lang: Some("de".to_owned()),
        ..FormatOptions::default()
    };
    let memory = |variants: &str| {
        let all =
            "<tuv xml:lang=\"de-AT\"><seg>Hund</seg></tuv><tuv xml:lang=\"en\"><seg>b</seg></tuv>";
        memory(
            "*all*",
            &format!("{all}</tu><tu srclang=\"*all*\">{variants}"),
        )
    };
    let input = Cursor::new(memory(EN).into_bytes());
    let reader = Format::Xml.read("a".to_owned(), input, &options);
    let translated = translate_document(&Reverses, reader.expect("it can be read"));
    let translated = String::from_utf8(translated.expect("it can be read"));
    let de = "<tuv xml:lang=\"de\"><seg><hi>DOG</hi> A<ph>&lt;br></ph></seg></tuv>";
    assert_eq!(
        translated.expect("it is text"),
        memory(&format!("{EN}{de}"))
    );
}

#[test]
fn a_translation_memory_without_variants_is_copied() {
    check("tmx", &memory("en", ""), &memory("en", ""));
}

#[test]
fn each_of_several_pairs_with_one_parent_is_filled() {
    let rules: XmlRules =
        serde_json::from_str(r#"{ "filled": ["src", "tgt"] }"#).expect("it is a table");
    let options = FormatOptions {
        xml: Some(rules),
        ..FormatOptions::default()
    };
    for (source, expected) in [
        (
            "<src>a dog</src><tgt/><src>b cat</src><tgt/>",
            "<src>a dog</src><tgt>DOG A</tgt><src>b cat</src><tgt>CAT B</tgt>",
        ),
        (
            "<tgt>Hund</tgt><src>a dog</src><src>b cat</src>",
            "<tgt>Hund</tgt><src>a dog</src><src>b cat</src><tgt>CAT B</tgt>",
        ),
    ] {
        let input = Cursor::new(format!("<root>{source}</root>").into_bytes());
        let reader = Format::Xml.read("a".to_owned(), input, &options);
        let translated = translate_document(&Reverses, reader.expect("it can be read"));
        let translated = String::from_utf8(translated.expect("it can be read"));
        assert_eq!(
            translated.expect("it is text"),
            format!("<root>{expected}</root>")
        );
    }
}

#[test]
fn a_translation_memory_without_languages_is_refused() {
    let error = |text: &str| {
        let read = read(&Reverses, "tmx", text);
        read.expect_err("it is refused").to_string()
    };
    assert_eq!(
        error(&memory("en", EN).replace(" srclang=\"en\"", "")),
        "a, line 1: the header of the memory names no source language; set `srclang` of the `header`, and use a model \
         that names its languages"
    );
    assert!(error(&memory("en", EN)).contains("the language of the translation is not known"));
}

#[test]
fn a_message_around_points_of_xliff_is_copied() {
    let unit = |source: &str| {
        format!(
            "<xliff version=\"1.2\"><file><body><trans-unit id=\"1\"><source>{source}</source></trans-unit></body></file></xliff>"
        )
    };
    let message = "{V, plural, =1 {one dog} other {<x id=\"I\"/> dogs}}";
    check("xlf", &unit(message), &unit(message));
}

#[test]
fn tags_that_angular_writes_as_points_keep_their_order() {
    let source = "A <x id=\"START_LINK\"/>dog<x id=\"CLOSE_LINK\"/> runs";
    let unit = format!(
        "<xliff version=\"1.2\"><file><body><trans-unit id=\"1\"><source>{source}</source></trans-unit></body></file></xliff>"
    );
    let found = read(&Reverses, "xlf", &unit).expect("it can be read");
    let (_, target) = found.split_once("<target>").expect("it is filled");
    let at = |id| target.find(id).expect("it is kept");
    assert!(at("START_LINK") < at("CLOSE_LINK"), "{target}");
}

#[test]
fn carriage_returns_stay_entities() {
    let resources = |a: &str| format!("<root><data name=\"a\"><value>{a}</value></data></root>");
    let (source, expected) = ("A dog&#13;\nTwo cats", "DOG A&#13;\nCATS TWO");
    check("resx", &resources(source), &resources(expected));
    let (source, expected) = ("A dog&#xD;\nTwo cats", "DOG A&#xD;\nCATS TWO");
    check("resx", &resources(source), &resources(expected));
}
