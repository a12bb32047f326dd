//! The passages, marks and copied text of given HTML.

use std::io::Read;

use crate::format::html::{HtmlOptions, html_parts};
use crate::{MarkKind, Part, Passage, ReadError};

const WITH_ATTRIBUTES: HtmlOptions = HtmlOptions { attributes: true };

/// A reader that returns at most `block` bytes at a time.
pub(super) struct Blocks {
    pub(super) source: Vec<u8>,
    pub(super) at: usize,
    pub(super) block: usize,
}

impl Read for Blocks {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n_left = self.source.len() - self.at;
        let n_read = n_left.min(self.block).min(buffer.len());
        buffer[..n_read].copy_from_slice(&self.source[self.at..self.at + n_read]);
        self.at += n_read;
        Ok(n_read)
    }
}

pub(super) fn read(source: &str, options: HtmlOptions) -> Vec<Part> {
    try_read(source.as_bytes(), options).expect("the source is UTF-8")
}

fn try_read(source: &[u8], options: HtmlOptions) -> Result<Vec<Part>, ReadError> {
    let input = Blocks {
        source: source.to_vec(),
        at: 0,
        block: 1 << 20,
    };
    html_parts("`a.html`".to_owned(), input, options)
}

pub(super) fn passages(parts: &[Part]) -> Vec<&Passage> {
    parts
        .iter()
        .filter_map(|part| match part {
            Part::Passage(passage) => Some(passage),
            Part::Verbatim(_) => None,
        })
        .collect()
}

fn texts(source: &str) -> Vec<String> {
    let parts = read(source, HtmlOptions::default());
    let texts = passages(&parts);
    texts.iter().map(|passage| passage.text.clone()).collect()
}

/// Shows the only passage: its text, and the range and source of each mark.
fn marks(source: &str) -> String {
    let parts = read(source, HtmlOptions::default());
    let passages = passages(&parts);
    assert_eq!(passages.len(), 1, "{parts:?}");
    let mut shown = passages[0].text.clone();
    for mark in &passages[0].marks {
        let (start, end) = (mark.range.start, mark.range.end);
        let content = match &mark.kind {
            MarkKind::Pair { open, close } => format!("{}…{}", open.source(), close.source()),
            MarkKind::Point { raw } | MarkKind::Break { raw } => raw.source(),
        };
        shown.push_str(&format!("|{start}..{end} {content}"));
    }
    shown
}

#[test]
fn a_pair_encloses_its_words() {
    assert_eq!(
        marks("<p>Tom &amp; <b>Jerry</b>!</p>"),
        "Tom & Jerry!|6..11 <b>…</b>"
    );
}

#[test]
fn a_pair_around_a_whole_passage_is_copied() {
    assert_eq!(marks("<p> <b>Tom <i>x</i></b></p>"), "Tom x|4..5 <i>…</i>");
}

#[test]
fn a_point_stands_in_place_of_the_whitespace_around_it() {
    assert_eq!(marks("a <img> b"), "a b|1..2  <img> ");
}

#[test]
fn a_point_between_words_that_touch_has_a_space_in_the_text() {
    assert_eq!(marks("a<img>b"), "a b|1..2 <img>");
}

#[test]
fn a_point_between_brackets_needs_no_space() {
    assert_eq!(marks("a (<img>)"), "a ()|3..3 <img>");
}

#[test]
fn a_point_before_a_full_stop_needs_no_space() {
    assert_eq!(marks("a <img>."), "a.|1..1  <img>");
}

#[test]
fn images_at_the_edges_do_not_move_with_code_beside_them() {
    assert_eq!(
        marks("<p>See <code>foo</code> <img src=a></p>"),
        "See|3..3  <code>foo</code>"
    );
    assert_eq!(
        marks("<p><!-- c --> <code>foo</code> runs</p>"),
        "runs|0..0 <code>foo</code> "
    );
}

#[test]
fn a_no_break_space_at_an_edge_is_text() {
    assert_eq!(
        marks("<p>&nbsp;<b>Note</b> Close it.</p>"),
        "\u{a0}Note Close it.|2..6 <b>…</b>"
    );
}

#[test]
fn whitespace_that_moves_into_tags_changes_no_byte() {
    for source in [
        "<p>Read <b>Q & </b></p>",
        "<p><b>&#13;foo</b> bar</p>",
        "<p>a <i> <b> x </b></i></p>",
    ] {
        let parts = read(source, HtmlOptions::default());
        let written: String = parts.iter().map(Part::source).collect();
        assert_eq!(written, source);
    }
}

#[test]
fn points_side_by_side_are_one() {
    assert_eq!(marks("a <img> <!-- c --> b"), "a b|1..2  <img> <!-- c --> ");
}

#[test]
fn a_comment_inside_of_a_word_does_not_divide_it() {
    assert_eq!(marks("foo<!-- c -->bar"), "foobar|3..3 <!-- c -->");
}

#[test]
fn code_is_a_point_with_its_content() {
    assert_eq!(
        marks("Use <code>a <b>b</b></code> here"),
        "Use here|3..4  <code>a <b>b</b></code> "
    );
}

#[test]
fn code_at_the_end_belongs_to_the_sentence() {
    assert_eq!(marks("Use <code>x</code>"), "Use|3..3  <code>x</code>");
}

#[test]
fn whitespace_at_the_edges_of_a_pair_is_text() {
    assert_eq!(marks("<b>bold </b>text"), "bold text|0..5 <b>…</b>");
}

#[test]
fn a_pair_without_text_is_a_point() {
    assert_eq!(
        marks("a <i class=icon></i> b"),
        "a b|1..2  <i class=icon></i> "
    );
}

#[test]
fn the_mark_of_a_footnote_is_a_point() {
    let source = "One dog.<sup id=a><a href=\"#n\">[1]</a></sup> Two run<sup>&dagger;2</sup>. H<sup>th</sup>";
    assert_eq!(texts(source), ["One dog. Two run. Hth"]);
    let copied: String = read(source, HtmlOptions::default())
        .iter()
        .map(Part::source)
        .collect();
    assert_eq!(copied, source);
}

#[test]
fn a_point_inside_of_a_pair_has_the_pair_as_parent() {
    let parts = read("x <b>a <img> c</b>", HtmlOptions::default());
    assert_eq!(passages(&parts)[0].marks[1].parent, Some(0));
}

#[test]
fn crossing_tags_end_passages() {
    assert_eq!(texts("<b>x<i>y</b>z</i>"), ["x", "y", "z"]);
}

#[test]
fn a_tag_without_partner_ends_a_passage() {
    assert_eq!(texts("a</b> b <i>c"), ["a", "b", "c"]);
}

#[test]
fn links_do_not_nest() {
    assert_eq!(texts("<a>x<a>y</a>z"), ["x", "y", "z"]);
}

#[test]
fn blocks_end_passages() {
    assert_eq!(
        texts("<title>T &lt;b></title>a<br>b<ul><li>c<li>d</ul><table><td>e<td>f</table>g"),
        ["T <b>", "a", "b", "c", "d", "e", "f", "g"]
    );
}

#[test]
fn unknown_elements_end_passages() {
    assert_eq!(texts("a<x-y>b</x-y>c<foo>d"), ["a", "b", "c", "d"]);
}

#[test]
fn text_that_is_not_translated_is_copied() {
    assert_eq!(
        texts(
            "<div translate=no>a<p>b</div><p class='x notranslate'>c<p>d<pre>e</pre>\
             <style>f</style><script>g</script><template>h</template><svg><text>i</text></svg>"
        ),
        ["d"]
    );
}

#[test]
fn translation_is_turned_on_again_inside() {
    assert_eq!(
        texts("<div translate=no>a<p translate=yes>b<br>c</p>d</div>"),
        ["b", "c"]
    );
}

#[test]
fn code_that_asks_for_it_is_translated() {
    assert_eq!(texts("<code translate=yes>a</code>"), ["a"]);
}

#[test]
fn text_without_entities_is_never_translated() {
    assert_eq!(texts("<xmp translate=yes>a</xmp>"), [""; 0]);
}

#[test]
fn a_word_that_is_not_translated_is_a_point() {
    assert_eq!(
        marks("Hi <span translate=\"no\">:wave:</span> you"),
        "Hi you|2..3  <span translate=\"no\">:wave:</span> "
    );
}

#[test]
fn a_script_ends_where_browsers_end_it() {
    assert_eq!(
        texts("<script><!-- <script>a</script> --></script>b"),
        ["b"]
    );
}

#[test]
fn svg_ends_at_html_elements() {
    assert_eq!(texts("<svg><title>a</title><style>b<p>c"), ["c"]);
}

#[test]
fn an_entity_is_written_as_in_the_source() {
    let parts = read("<p>Caf&eacute;&nbsp;x", HtmlOptions::default());
    let notation = &passages(&parts)[0].notation;
    assert_eq!(notation.escape("été\u{a0}1"), "&eacute;t&eacute;&nbsp;1");
}

#[test]
fn attributes_are_copied_without_the_option() {
    assert_eq!(texts("<img alt='A dog'>"), [""; 0]);
}

#[test]
fn attributes_are_passages_with_the_option() {
    let parts = read("<p title=\"a &quot;b&quot;\">", WITH_ATTRIBUTES);
    assert_eq!(passages(&parts)[0].text, "a \"b\"");
}

#[test]
fn attributes_of_inline_tags_are_passages_of_the_mark() {
    let parts = read("a <img alt=dog> b", WITH_ATTRIBUTES);
    let MarkKind::Point { raw } = &passages(&parts)[0].marks[0].kind else {
        panic!("expected a point: {parts:?}");
    };
    assert_eq!(passages(&raw.0)[0].text, "dog");
}

#[test]
fn attributes_of_elements_that_are_not_translated_are_copied() {
    let parts = read("<p translate=no title=a><i title=b>", WITH_ATTRIBUTES);
    assert!(passages(&parts).is_empty(), "{parts:?}");
}

#[test]
fn an_image_in_a_picture_has_its_text_translated() {
    let source = "a <picture><source srcset=x><img alt=dog></picture> b";
    let parts = read(source, WITH_ATTRIBUTES);
    assert_eq!(passages(&parts)[0].text, "a b");
}

#[test]
fn a_byte_that_is_not_utf8_is_refused_with_its_line() {
    let error = try_read(b"a\nb\xe9", HtmlOptions::default()).expect_err("it is Latin-1");
    assert_eq!(
        error.to_string(),
        "`a.html`, line 2: byte 2 of the line is not UTF-8; convert the file, for example with \
         `iconv -f LATIN1 -t UTF-8` if that is its encoding"
    );
}

#[test]
fn a_page_that_declares_another_encoding_is_refused() {
    let source = b"<head>\n<META http-equiv=Content-Type content='text/html; charset=iso-8859-1'>";
    let error = try_read(source, HtmlOptions::default()).expect_err("it declares Latin-1");
    assert!(
        error
            .to_string()
            .starts_with("`a.html`, line 2: the page declares its encoding as `iso-8859-1`"),
        "{error}"
    );
}

#[test]
fn a_page_that_declares_utf8_is_read() {
    assert_eq!(texts("<meta charset=\"UTF-8\">a"), ["a"]);
}

#[test]
fn tags_nested_very_deeply_are_read() {
    let source = format!("{}x{}", "<div>".repeat(100_000), "</div>".repeat(100_000));
    assert_eq!(texts(&source), ["x"]);
}

#[test]
fn inline_tags_nested_very_deeply_are_read() {
    let source = format!("{}x{}", "<b>".repeat(100_000), "</b>".repeat(100_000));
    assert_eq!(texts(&source), ["x"]);
}

#[test]
fn endless_text_is_divided_at_whitespace() {
    let source = "word ".repeat(100_000);
    let longest = texts(&source).iter().map(String::len).max();
    assert!(
        longest.is_some_and(|len| len <= (1 << 16) + 5),
        "{longest:?}"
    );
}

#[test]
fn an_endless_word_is_divided() {
    let longest = texts(&"é".repeat(300_000)).iter().map(String::len).max();
    assert!(longest.is_some_and(|len| len <= 1 << 17), "{longest:?}");
}

#[test]
fn an_endless_tag_is_refused() {
    let source = format!("<a href=\"{}", "x".repeat(1 << 26));
    let error = try_read(source.as_bytes(), HtmlOptions::default()).expect_err("it is too long");
    assert!(error.to_string().contains("16777216 bytes"), "{error}");
}
