//! The page of `compare --html` lists the sentences of `tests/fixtures/comparison.py`, and keeps all text as text.

use std::fs;
use std::process::{Command, Output, Stdio};

use serde::Deserialize;
use tempfile::TempDir;

use crate::command::{stderr, stdout};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Golden {
    sources: Vec<String>,
    references: Vec<String>,
    systems: [Vec<String>; 2],
    /// sacreBLEU's chrF2 of each sentence.
    scores: [Vec<f64>; 2],
    /// Lines, the first to be listed first.
    better: Vec<usize>,
    worse: Vec<usize>,
    worst: [Vec<usize>; 2],
    numbers: [Vec<usize>; 2],
    copied: [Vec<usize>; 2],
    /// For each line, the words of the second system that the first lacks: in the reference, and not in it.
    marks: Vec<[Vec<String>; 2]>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../fixtures/comparison.json"))
        .expect("the generator writes the fields above")
}

fn folder(files: &[(&str, &[String])]) -> TempDir {
    let folder = tempfile::tempdir().expect("the system has temporary directories");
    for (name, lines) in files {
        let content = lines.join("\n") + "\n";
        fs::write(folder.path().join(name), content).expect("the folder is writable");
    }
    folder
}

fn compare(folder: &TempDir, arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_transformer-infer"))
        .arg("compare")
        .args(arguments.split(' '))
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("cargo has built the program")
}

/// Writes a page about the golden systems, with all sentences and six decimals, and returns it.
fn golden_page(flags: &str) -> String {
    let golden = golden();
    let [first, second] = &golden.systems;
    let folder = folder(&[
        ("src", &golden.sources),
        ("ref", &golden.references),
        ("a", first),
        ("b", second),
    ]);
    let arguments = format!("--ref ref --hyp a --hyp b --html page.html --width 6 {flags}");
    let output = compare(&folder, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    fs::read_to_string(folder.path().join("page.html")).expect("it was written")
}

/// Returns the text between two others.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(start).expect("the start is there");
    rest.split_once(end).expect("the end is there").0
}

/// Returns the sentences of a section, with the numbers of their lines.
fn listed<'a>(page: &'a str, section: &str) -> Vec<(usize, &'a str)> {
    let section = between(page, &format!("<section id=\"{section}\">"), "</section>");
    let articles = section.split("<article>").skip(1);
    let numbered = |it: &'a str| (between(it, "line ", "<").parse().expect("a number"), it);
    articles.map(numbered).collect()
}

fn lines(listed: &[(usize, &str)]) -> Vec<usize> {
    listed.iter().map(|(line, _)| *line).collect()
}

#[test]
fn differences_are_listed_in_the_order_of_sacrebleu() {
    let (golden, page) = (golden(), golden_page("--examples 100"));
    assert_eq!(lines(&listed(&page, "better-1")), golden.better);
    assert_eq!(lines(&listed(&page, "worse-1")), golden.worse);
}

#[test]
fn sentences_have_the_scores_of_sacrebleu_and_the_lowest_are_first() {
    let (golden, page) = (golden(), golden_page("--examples 100"));
    for system in 0..2 {
        let listed = listed(&page, &format!("worst-{system}"));
        assert_eq!(lines(&listed), golden.worst[system]);
        for (line, article) in listed {
            let score = between(article, ", chrF2 ", "<").parse::<f64>();
            let score = score.expect("a number");
            let known = golden.scores[system][line - 1];
            assert!((score - known).abs() < 1e-6, "{line}: {score} {known}");
        }
    }
}

#[test]
fn words_that_only_one_translation_has_are_marked() {
    let (golden, page) = (golden(), golden_page("--examples 100"));
    for (line, article) in listed(&page, "better-1") {
        let of_second = between(article, "<dt>b, ", "</dd>");
        let words = |class: &str| -> Vec<String> {
            let start = format!("<mark class=\"{class}\">");
            let marks = of_second.split(&start).skip(1);
            let word = |it: &str| it.split_once('<').expect("marks end").0.to_owned();
            marks.map(word).collect()
        };
        let found = ["right", "wrong"].map(words);
        assert_eq!(found, golden.marks[line - 1], "{article}");
    }
}

#[test]
fn sentences_that_lack_numbers_and_placeholders_are_counted_and_listed() {
    let (golden, page) = (golden(), golden_page("--src src --examples 100"));
    for (fault, known) in [
        ("numbers", &golden.numbers),
        ("copied text", &golden.copied),
    ] {
        for (system, known) in known.iter().enumerate() {
            let mut listed = listed(&page, &format!("faults-{system}"));
            listed.retain(|(_, article)| between(article, "</span>", "</h3>").contains(fault));
            assert_eq!(lines(&listed), *known, "{fault}");
        }
        let row = between(&page, &format!(">{fault}</th>"), "</tr>");
        let counts = known.each_ref().map(Vec::len);
        let expected = format!("<td>{}</td><td>{}</td><td>0</td>", counts[0], counts[1]);
        assert_eq!(row, expected);
    }
}

#[test]
fn lists_have_as_many_sentences_as_asked_for() {
    let page = golden_page("--examples 3");
    assert_eq!(lines(&listed(&page, "better-1")), golden().better[..3]);
    assert!(!page.contains("faults-0"), "there are no sources");
}

const NASTY: &str = "</dd></style><script>alert(1)</script><img src=x onerror=alert(1)> {content} {title} &amp; \" ' 7";

#[test]
fn text_that_looks_like_markup_stays_text() {
    let page = |text: &str| {
        let lines = [text.to_owned(), "a b".to_owned()];
        let hypotheses = [text.replace('7', "8"), "c d".to_owned()];
        let names = ["src", "ref", "a&lt;b", "b"];
        let folder = folder(&[
            (names[0], &lines),
            (names[1], &lines),
            (names[2], &hypotheses),
            (names[3], &lines),
        ]);
        let output = compare(
            &folder,
            "--ref ref --hyp a&lt;b --hyp b --src src --html page.html",
        );
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        fs::read_to_string(folder.path().join("page.html")).expect("it was written")
    };
    let (nasty, plain) = (page(NASTY), page("c d e 7"));
    let elements = |page: &str| {
        let marks = page.matches("<mark").count() + page.matches("</mark").count();
        page.matches('<').count() - marks
    };
    // As many faults, so as many elements: no text has become one.
    assert_eq!(elements(&nasty), elements(&plain));
    assert!(
        nasty.contains("&lt;/dd&gt;&lt;/style&gt;&lt;script&gt;alert(1)"),
        "{nasty}"
    );
    assert!(nasty.contains("<title>a&amp;lt;b and b</title>"), "{nasty}");
    assert!(
        nasty.contains("{content} {title} &amp;amp; &quot;"),
        "{nasty}"
    );
}

#[test]
fn the_page_loads_nothing() {
    let page = golden_page("--src src");
    for address in [
        "http:", "https:", "src=", "@import", "url(", "<script", "<link",
    ] {
        assert!(!page.contains(address), "{address}");
    }
}

#[test]
fn one_translation_is_enough_for_a_page() {
    let golden = golden();
    let folder = folder(&[("ref", &golden.references), ("a", &golden.systems[0])]);
    let output = compare(&folder, "--ref ref --hyp a --html page.html");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output)[0], "95% intervals by bootstrap resampling");
    let page = fs::read_to_string(folder.path().join("page.html")).expect("it was written");
    assert_eq!(lines(&listed(&page, "worst-0")), golden.worst[0][..20]);
    assert!(!page.contains("better-"));
}

#[test]
fn a_page_replaces_its_predecessor_alone() {
    let golden = golden();
    let folder = folder(&[
        ("ref", &golden.references),
        ("thesis.html", &golden.systems[0]),
    ]);
    let run = |name: &str| {
        let arguments = format!("--ref ref --hyp thesis.html --html {name}");
        compare(&folder, &arguments)
    };
    for _ in 0..2 {
        assert_eq!(run("page.html").status.code(), Some(0));
    }
    let refused = run("thesis.html");
    let message = stderr(&refused);
    assert!(
        message.contains("was not written by this command"),
        "{message}"
    );
    let refused = run("page.pdf");
    let expected = "error: `page.pdf` does not end in .html; give --html a name that does\n";
    assert_eq!(
        (refused.status.code(), stderr(&refused)),
        (Some(2), expected)
    );
}
