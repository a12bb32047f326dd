//! SubRip and WebVTT.

use std::time::Duration;

use crate::format::{Format, FormatOptions, SubtitleKind, SubtitleOptions};
use crate::{MarkKind, Part};
use proptest::prelude::*;

use super::check::{self, assert_is_sound, assert_reads_back, fixture, passages, texts, written};

fn read_bytes(kind: SubtitleKind, text: &[u8]) -> check::Read {
    check::read(Format::Subtitles(kind), &FormatOptions::default(), text)
}

fn srt(text: &str) -> check::Read {
    read_bytes(SubtitleKind::SubRip, text.as_bytes())
}

fn vtt(text: &str) -> check::Read {
    read_bytes(SubtitleKind::WebVtt, text.as_bytes())
}

fn srt_parts(text: &str) -> Vec<Part> {
    srt(text).expect("it is SubRip")
}

fn vtt_parts(text: &str) -> Vec<Part> {
    vtt(text).expect("it is WebVTT")
}

/// Returns the text of a file in the format, with a cue for each text and `pause` milliseconds between them.
fn cues(cues: &[&str], pause: usize) -> String {
    let cue = |(index, text): (usize, &&str)| {
        let start = index * (1000 + pause);
        let time = |ms: usize| {
            format!(
                "00:{:02}:{:02},{:03}",
                ms / 60_000,
                ms / 1000 % 60,
                ms % 1000
            )
        };
        let (start, end) = (time(start), time(start + 1000));
        format!("{}\n{start} --> {end}\n{text}\n", index + 1)
    };
    let cues: Vec<String> = cues.iter().enumerate().map(cue).collect();
    cues.join("\n")
}

#[test]
fn a_blank_line_before_the_signature_is_refused() {
    let read = check::read(
        Format::Subtitles(SubtitleKind::WebVtt),
        &FormatOptions::default(),
        b"\nWEBVTT\n\n00:01.000 --> 00:02.000\nA dog\n",
    );
    assert_eq!(
        read.expect_err("browsers do not read it").to_string(),
        "test, line 1: expected `WEBVTT` in the first line, found other text or a blank line; check that this is a \
         WebVTT file, and remove what comes before"
    );
}

#[test]
fn a_sentence_over_cues_is_one_passage_with_the_times_as_a_break() {
    let parts = srt_parts(&cues(&["I never said", "that it was easy."], 0));
    assert_eq!(texts(&parts), ["I never said that it was easy."]);
    let marks = &passages(&parts).next().expect("there is a passage").marks;
    let [mark] = &marks[..] else {
        panic!("{marks:?}")
    };
    let MarkKind::Break { raw } = &mark.kind else {
        panic!("{mark:?}")
    };
    assert_eq!(raw.source(), "\n\n2\n00:00:01,000 --> 00:00:02,000\n");
    assert_eq!(mark.range, 12..13);
}

#[test]
fn a_long_pause_ends_the_passage() {
    let parts = srt_parts(&cues(&["PARIS, 1944", "The war goes on."], 3001));
    assert_eq!(texts(&parts), ["PARIS, 1944", "The war goes on."]);
}

#[test]
fn a_long_pause_does_not_end_a_sentence_that_goes_on_in_lower_case() {
    let parts = srt_parts(&cues(&["And then I saw", "the ghost."], 3001));
    assert_eq!(texts(&parts), ["And then I saw the ghost."]);
}

#[test]
fn the_number_of_cues_of_a_passage_is_bounded() {
    let file = cues(&["one", "two", "three", "four", "five"], 0);
    let options = FormatOptions {
        subtitles: SubtitleOptions {
            pause: Duration::MAX,
            max_cues: 2,
        },
        ..FormatOptions::default()
    };
    let format = Format::Subtitles(SubtitleKind::SubRip);
    let parts = check::read(format, &options, file.as_bytes());
    assert_eq!(
        texts(&parts.expect("it is SubRip")),
        ["one two", "three four", "five"]
    );
}

#[test]
fn the_dashes_of_two_speakers_are_verbatim() {
    let parts = srt_parts(&cues(
        &["- Are you there?\n-Yes.", "-5 degrees outside."],
        0,
    ));
    assert_eq!(
        texts(&parts),
        ["Are you there?", "Yes. -5 degrees outside."]
    );
}

#[test]
fn tags_are_marks_where_they_are_balanced_and_verbatim_otherwise() {
    let parts = srt_parts(&cues(
        &[
            "{\\an8}It <i>really</i> is",
            "{\\an8}<b>so late.",
            "<i>All of it.</i>",
        ],
        0,
    ));
    assert_eq!(texts(&parts), ["It really is", "so late. All of it."]);
}

#[test]
fn voices_of_webvtt_are_verbatim_and_references_are_resolved() {
    let parts = vtt_parts(
        "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>Tom &amp; I</v>\n<v Tom>went &lt;home&gt;.\n",
    );
    assert_eq!(texts(&parts), ["Tom & I", "went <home>."]);
}

#[test]
fn references_of_webvtt_are_those_of_html() {
    let text = "WEBVTT\n\n00:01.000 --> 00:02.000\nCaf&eacute; &#39;x&#39; &quot;y&quot; R&D.\n";
    assert_eq!(texts(&vtt_parts(text)), ["Café 'x' \"y\" R&D."]);
}

#[test]
fn times_inside_of_a_cue_are_breaks_which_keep_words_whole() {
    let text =
        "WEBVTT\n\n00:01.000 --> 00:02.000\na <00:01.200>brown dog<00:01.400>gie <c.x>runs</c>\n";
    let parts = vtt_parts(text);
    assert_eq!(texts(&parts), ["a brown doggie runs"]);
    let passage = passages(&parts).next().expect("there is a passage");
    let is_break = |mark: &&crate::Mark| matches!(mark.kind, MarkKind::Break { .. });
    assert_eq!(passage.marks.iter().filter(is_break).count(), 2);
}

#[test]
fn speakers_and_sounds_are_apart() {
    let file = cues(
        &[
            "( dog barks )\nMAN: Get down!",
            "[sighs] And\nthen it\n(the dog) ran",
            "- (door opens)\n- JOHN 2: Hi",
        ],
        0,
    );
    assert_eq!(
        texts(&srt_parts(&file)),
        [
            "dog barks",
            "Get down!",
            "sighs",
            "And then it (the dog) ran",
            "door opens",
            "Hi"
        ]
    );
}

#[test]
fn titles_of_chapters_are_apart() {
    let titles = [
        "Prologue",
        "The first dog",
        "Two men at the park",
        "Credits",
    ];
    assert_eq!(texts(&srt_parts(&cues(&titles, 0))), titles);
    let sentence = ["Then I saw", "John Smith.", "Prologue", "The dog"];
    assert_eq!(
        texts(&srt_parts(&cues(&sentence, 0))),
        ["Then I saw John Smith. Prologue", "The dog"]
    );
}

#[test]
fn tags_that_run_over_cues_are_verbatim() {
    let file = cues(&["<i>Then I", "saw</i> it. <b>{\\an7}No</b>"], 0);
    assert_eq!(texts(&srt_parts(&file)), ["Then I saw", "it. No"]);
}

#[test]
fn notes_and_styles_are_verbatim() {
    let parts = vtt_parts(
        "WEBVTT - demo\n\nNOTE not this\n\nSTYLE\n::cue { color: red }\n\nid\n00:01.000 --> 00:02.000\nThis.\n",
    );
    assert_eq!(texts(&parts), ["This."]);
}

#[test]
fn text_behind_a_blank_line_in_a_cue_is_translated() {
    let parts = srt_parts("1\n00:00:01,000 --> 00:00:02,000\nOne\n\nmore line.\n\n2\n");
    assert_eq!(texts(&parts), ["One more line."]);
}

#[test]
fn another_file_than_subrip_is_refused_by_line() {
    let error = srt("\nOnce upon a time\n").expect_err("it is prose");
    assert!(error.to_string().starts_with("test, line 2: "), "{error}");
}

#[test]
fn another_file_than_webvtt_is_refused_by_line() {
    let error = vtt(&cues(&["A"], 0)).expect_err("it is SubRip");
    assert!(error.to_string().starts_with("test, line 1: "), "{error}");
}

#[test]
fn the_film_scene_reads_back() {
    let parts = srt_parts(&fixture("scene.srt"));
    assert_reads_back(&parts, srt);
}

#[test]
fn the_talk_reads_back() {
    let parts = vtt_parts(&fixture("talk.vtt"));
    assert_reads_back(&parts, vtt);
}

const SPECIAL: [&str; 24] = [
    "\n",
    "\n\n",
    "\r\n",
    "\r\n\r\n",
    "<i>",
    "</i>",
    "<b>",
    "</b>",
    "{\\an8}",
    "- ",
    "1\n",
    "00:00:01,000 --> 00:00:02,000\n",
    "-->",
    "<v Ann>",
    "</v>",
    "<c.red>",
    "</c>",
    "<00:01.000>",
    "&amp;",
    "&",
    "<",
    "NOTE x\n",
    " ",
    "\u{feff}",
];

fn check_bytes(kind: SubtitleKind, bytes: &[u8]) {
    if let Ok(parts) = read_bytes(kind, bytes) {
        assert_is_sound(&parts);
        assert_eq!(written(&parts).into_bytes(), bytes);
        assert_reads_back(&parts, |text| read_bytes(kind, text.as_bytes()));
    }
}

proptest! {
    #[test]
    fn subrip_is_copied_and_read_back(file in check::mutated(fixture("scene.srt"), &SPECIAL)) {
        check_bytes(SubtitleKind::SubRip, &file.0);
    }

    #[test]
    fn webvtt_is_copied_and_read_back(file in check::mutated(fixture("talk.vtt"), &SPECIAL)) {
        check_bytes(SubtitleKind::WebVtt, &file.0);
    }
}
