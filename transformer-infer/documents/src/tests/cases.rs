//! Small documents of every format, each with the translation that keeps everything that must be kept.

use super::Reverses;
use super::doubles::{Writes, translate_sentences};
use crate::Part;
use crate::format::{Format, FormatOptions, ReadError, XmlOptions, xml_parts};

fn read(format: &str, source: &'static str) -> Result<Vec<Part>, ReadError> {
    let format: Format = format.parse().expect("it is a format");
    let options = FormatOptions::default();
    format
        .read("a".to_owned(), source.as_bytes(), &options)?
        .collect()
}

/// Documents, each with its translation by reversing and capitalizing the words of every sentence.
const CASES: &[(&str, &str, &str)] = &[
    (
        "json",
        r#"{"b":"Page {current}/{total} of dogs","c":"Dogs {from}-{to} run","e":"A picture of {width}x{height} dogs","s":"Two %s/%s dogs run"}
"#,
        r#"{"b":"DOGS OF PAGE {current}/{total}","c":"RUN DOGS {from}-{to}","e":"DOGS OF {width}x{height} PICTURE A","s":"RUN DOGS TWO %s/%s"}
"#,
    ),
    (
        "md",
        r#"A dog uses `#![no_std]` in the park.
"#,
        r#"PARK THE IN USES `#![no_std]` DOG A.
"#,
    ),
    (
        "md",
        r#"A brown street
![c](d.png)
with horse.
"#,
        r#"HORSE WITH STREET
![c](d.png)
BROWN A.
"#,
    ),
    (
        "md",
        r#"A brown street
`c1`
with horse.
"#,
        r#"HORSE WITH STREET
`c1`
BROWN A.
"#,
    ),
    (
        "md",
        r#"A man plays with {{ site.title }}

A man plays with {{ items[0].name_ }} in the park.
"#,
        r#"WITH PLAYS MAN A {{ site.title }}

PARK THE IN WITH {{ items[0].name_ }} PLAYS MAN A.
"#,
    ),
    (
        "json",
        r#"{"n":"A dog runs:\n- a cat\n- {x}\n- two men"}
"#,
        r#"{"n":": RUNS DOG A\n- CAT A\n- {x}\n- MEN TWO"}
"#,
    ),
    (
        "md",
        r#"A man plays with `-x`/`--exec` in the park.
"#,
        r#"PARK THE IN WITH `-x`/`--exec` PLAYS MAN A.
"#,
    ),
    (
        "json",
        r#"{"a":"Two dogs &amp; a cat run&hellip;","b":"A man&#39;s dog"}
"#,
        r#"{"a":"RUN CAT A &amp; DOGS TWO&hellip;","b":"DOG MAN&#39;S A"}
"#,
    ),
    (
        "html",
        r##"<p>A man rides a brown horse.<sup id="r1"><a href="#n1">[1]</a></sup> Two dogs run in the snow<sup><a href="#n2">2</a></sup>.</p>
"##,
        r##"<p>HORSE BROWN A RIDES MAN A.<sup id="r1"><a href="#n1">[1]</a></sup> SNOW<sup><a href="#n2">2</a></sup> THE IN RUN DOGS TWO.</p>
"##,
    ),
    (
        "vtt",
        r#"WEBVTT

00:01.000 --> 00:02.000
a <00:00:01.200>brown <00:00:01.400>dog <00:00:01.600>is <00:00:01.800>being <00:00:01.900>chased
"#,
        r#"WEBVTT

00:01.000 --> 00:02.000
CHASED <00:00:01.200>BEING <00:00:01.400>IS <00:00:01.600>DOG <00:00:01.800>BROWN <00:00:01.900>A
"#,
    ),
    (
        "po",
        r#"msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\n"

msgid "Name\nStreet\nTwo dogs"
msgstr ""
"#,
        r#"msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\n"

msgid "Name\nStreet\nTwo dogs"
msgstr ""
"NAME\n"
"STREET\n"
"DOGS TWO"
"#,
    ),
    (
        "html",
        r#"<p>A man rides
a brown horse.</p>
"#,
        r#"<p>HORSE BROWN A RIDES
MAN A.</p>
"#,
    ),
    (
        "txt",
        r#"1. A man runs.
2. A dog sleeps.
- A cat plays.
"#,
        r#"1. RUNS MAN A.
2. SLEEPS DOG A.
- PLAYS CAT A.
"#,
    ),
    (
        "md",
        r#"Two dogs play on $E = mc^2$ in the park.

$$
\int_0^1 x
$$
"#,
        r#"PARK THE IN ON $E = mc^2$ PLAY DOGS TWO.

$$
\int_0^1 x
$$
"#,
    ),
    (
        "po",
        r#"msgid ""
msgstr ""
"Project-Id-Version: x\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Language: ja\n"
"Plural-Forms: nplurals=1; plural=0;\n"

#, c-format
msgid "One dog runs."
msgid_plural "%d dogs run."
msgstr[0] ""
"#,
        r#"msgid ""
msgstr ""
"Project-Id-Version: x\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Language: ja\n"
"Plural-Forms: nplurals=1; plural=0;\n"

#, c-format
msgid "One dog runs."
msgid_plural "%d dogs run."
msgstr[0] "%d RUN DOGS."
"#,
    ),
    (
        "html",
        r#"<table><tr><td>2024</td><td>1,234</td></tr></table><p><a href="?p=2">2</a></p>
"#,
        r#"<table><tr><td>2024</td><td>1,234</td></tr></table><p><a href="?p=2">2</a></p>
"#,
    ),
    (
        "json",
        r#"{"a":"A man sees %{count} dogs.","b":"A man sees $NAME$ here.","c":"A dog named %1$@ runs.","d":"A picture of %dx%d pixels.","e":"A man sees {{{name}}} here.","f":"Block @{name}"}
"#,
        r#"{"a":"DOGS SEES %{count} MAN A.","b":"HERE SEES $NAME$ MAN A.","c":"RUNS NAMED %1$@ DOG A.","d":"PIXELS OF %dx%d PICTURE A.","e":"HERE SEES {{{name}}} MAN A.","f":"BLOCK @{name}"}
"#,
    ),
    (
        "txt",
        r#"A man sells two dogs for $20.50 in the park.
"#,
        r#"PARK THE IN 20.50 $ FOR DOGS TWO SELLS MAN A.
"#,
    ),
    (
        "md",
        r#"A dog at https://example.org/wiki/Dog_(animal) runs.
"#,
        r#"RUNS AT https://example.org/wiki/Dog_(animal) DOG A.
"#,
    ),
    (
        "txt",
        r#"A dog at https://example.org/wiki/Dog_(animal) runs.
"#,
        r#"RUNS AT https://example.org/wiki/Dog_(animal) DOG A.
"#,
    ),
    (
        "html",
        r#"<p>
  A man in a red shirt rides
  a brown horse while two dogs
  are playing in the snow.
</p>
"#,
        r#"<p>
  SNOW THE IN PLAYING ARE DOGS TWO WHILE HORSE BROWN A RIDES
  SHIRT
  RED A IN MAN A.
</p>
"#,
    ),
    (
        "html",
        r##"<p><em><span>A man rides</span></em> <em><span>a brown horse here!</span></em></p>
<p><em>
<span>A man rides
</span>
</em>
<em>
<span>a brown horse here!
</span></em></p>
<p><a href="#">
 <em>
 <span style="x">
  A man rides
 </span>
 </em>
 <em>
  <span>
   a brown horse here!
  </span>
 </em>
</a></p>
<p>A man <b>rides</b>

<i>a brown</i> horse.</p><p>A man rides


a brown horse.</p>
<a href="#" target="_blank">
 <em>
 <span style="x">
  A man rides
 </span>
 </em>
 <em>
  <span>
   a brown horse here!
  </span>
 </em>
</a>"##,
        r##"<p><em><span>! HERE HORSE BROWN A</span></em> <em><span>RIDES MAN A</span></em></p>
<p>
<em>
<span>! HERE HORSE BROWN A
</span></em> <em>
<span>RIDES MAN A
</span>
</em></p>
<p><a href="#">
 
 <em>
  <span>
   ! HERE HORSE BROWN A
  </span>
 </em> <em>
 <span style="x">
  RIDES MAN A
 </span>
 </em>
</a></p>
<p>HORSE

<i>BROWN A</i> <b>RIDES</b> MAN A.</p><p>HORSE BROWN A RIDES


MAN A.</p>
<a href="#" target="_blank">
 
 <em>
  <span>
   ! HERE HORSE BROWN A
  </span>
 </em> <em>
 <span style="x">
  RIDES MAN A
 </span>
 </em>
</a>"##,
    ),
    (
        "json",
        r#"{"a":"Use up to %<PRIu32> threads."}"#,
        r#"{"a":"THREADS TO %<PRIu32> UP USE."}"#,
    ),
];

#[test]
fn what_is_to_be_kept_is_kept() {
    for (format, source, expected) in CASES {
        let parts = read(format, source).expect("the document is read");
        assert_eq!(translate_sentences(&Reverses, parts), *expected, "{source}");
    }
}

#[test]
fn a_document_type_of_xml_is_copied() {
    let source =
        r#"<?xml version="1.0"?><!DOCTYPE d [ <!ENTITY a "b"> ]><d><p>A dog runs.</p></d>"#;
    let parts = xml_parts(source, &XmlOptions::default());
    let expected = source.replace("A dog runs.", "RUNS DOG A.");
    assert_eq!(translate_sentences(&Reverses, parts), expected);
}

#[test]
fn a_catalog_in_another_charset_is_refused() {
    let source = "msgid \"\"\nmsgstr \"\"\n\"Content-Type: text/plain; charset=ISO-8859-1\\n\"\n\nmsgid \"A boy jumps.\"\nmsgstr \"\"\n";
    let error = read("po", source).expect_err("it is not UTF-8").to_string();
    assert!(
        error.contains("declares its charset as `ISO-8859-1`"),
        "{error}"
    );
}

#[test]
fn an_amount_that_the_model_drops_is_put_back() {
    let lines = Writes::new(|line| {
        let words = line.text.split_whitespace();
        let words = words.filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
        words.collect::<Vec<_>>().join(" ")
    });
    let source = "A man sells two dogs for $20.50 in the park.\n";
    let parts = read("txt", source).expect("it is text");
    assert_eq!(translate_sentences(&lines, parts), source);
}

#[test]
fn tags_after_percent_signs_are_tags() {
    let texts: [(&str, &[&str]); 3] = [
        (
            r#"{"a":"A dog saves <b>50%</b> of the food."}"#,
            &["<b>", "</b>"],
        ),
        (r#"{"a":"A man saves 20%<br>on two dogs."}"#, &["<br>"]),
        (r#"{"a":"Only %<b>two</b> dogs run."}"#, &["<b>", "</b>"]),
    ];
    for (text, tags) in texts {
        let written = translate_sentences(&Reverses, read("json", text).expect("it is JSON"));
        for tag in tags {
            assert_eq!(written.matches(tag).count(), 1, "{written}");
        }
    }
}

#[test]
fn spaces_outside_of_pairs_are_kept() {
    let page = read("html", "<p><img src=a>&#32;A dog runs.</p>").expect("it is UTF-8");
    let written = translate_sentences(&Reverses, page);
    let (_, words) = written
        .split_once("<img src=a>")
        .expect("the picture is kept");
    assert!(!words.starts_with('R'), "{written}");
}
