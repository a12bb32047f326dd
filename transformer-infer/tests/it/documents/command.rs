//! `translate --in`: documents as a user translates them, with a model that copies.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::command::stderr;
use crate::copy_model::write_copy_model;

/// The characters that the model knows, but for those of the files below.
const CHARACTERS: &str = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789 .,;:!?'\"()-–—…%&/<>[]{}#*_=+@$^|~`\\ äöüßÄÖÜéèêàçñ·©’“”„«»";

/// Files of every format, with flags.
const FILES: [(&str, &str, &[&str]); 9] = [
    (
        "article.html",
        include_str!("../../fixtures/html/article.html"),
        &["--attributes"],
    ),
    (
        "newsletter.html",
        include_str!("../../fixtures/html/newsletter.html"),
        &[],
    ),
    (
        "post.html",
        include_str!("../../fixtures/html/post.html"),
        &[],
    ),
    (
        "readme.markdown",
        include_str!("../../fixtures/documents/readme.markdown"),
        &[],
    ),
    (
        "scene.srt",
        include_str!("../../fixtures/documents/scene.srt"),
        &[],
    ),
    (
        "talk.vtt",
        include_str!("../../fixtures/documents/talk.vtt"),
        &[],
    ),
    (
        "products.csv",
        include_str!("../../fixtures/documents/products.csv"),
        &["--columns", "title,4"],
    ),
    (
        "signs.tsv",
        include_str!("../../fixtures/documents/signs.tsv"),
        &["--columns", "en"],
    ),
    (
        "strings.json",
        include_str!("../../fixtures/documents/strings.json"),
        &[],
    ),
];

struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("the system has temporary directories");
        let of_files = FILES.iter().map(|(_, content, _)| *content);
        let characters: String = of_files.chain([CHARACTERS]).collect();
        write_copy_model(&folder.path().join("model"), &characters.replace('\n', " "));
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).expect("the folder is writable");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("the program wrote the file")
    }

    /// Runs `translate` with flags that are names of files in the folder, if they contain a dot.
    fn translate(&self, flags: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_transformer-infer"));
        command
            .args(["translate", "--beam", "1", "--model", "model"])
            .args(flags);
        command
            .current_dir(self.folder.path())
            .output()
            .expect("cargo has built the program")
    }

    /// Translates a document, and returns it.
    fn translated(&self, name: &str, content: &str, flags: &[&str]) -> String {
        self.write(name, content);
        let output =
            self.translate(&[&["--in", name, "--out", "out", "--overwrite"], flags].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        self.read("out")
    }
}

#[test]
fn the_copy_model_copies() {
    let folder = Folder::new();
    let output = folder.translate(&["A dog runs (fast), doesn't it? Übergrößenträger"]);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "A dog runs (fast), doesn't it? Übergrößenträger\n"
    );
}

#[test]
fn every_format_is_copied_byte_for_byte() {
    let folder = Folder::new();
    for (name, content, flags) in FILES {
        let flags = [flags, &["--quiet"]].concat();
        assert_eq!(folder.translated(name, content, &flags), content, "{name}");
    }
}

#[test]
fn empty_messages_of_a_catalog_get_translations() {
    let catalog = "msgid \"\"\nmsgstr \"Language: de\\n\"\n\nmsgid \"Save %s now\"\nmsgstr \"\"\n";
    let filled = catalog.replace("now\"\nmsgstr \"\"", "now\"\nmsgstr \"Save %s now\"");
    assert_eq!(Folder::new().translated("a.po", catalog, &[]), filled);
}

#[test]
fn columns_that_are_not_named_are_listed() {
    let folder = Folder::new();
    folder.write("a.csv", "id,name\n1,Dog\n");
    let output = folder.translate(&["--in", "a.csv", "--out", "b.csv"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("the columns are 1 `id`, 2 `name`"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_text_keeps_its_spaces_lines_and_placeholders() {
    let text = "A dog runs.  It is {n} years old!\r\n\n\tSee https://example.org/a?b=c, or mail a.b@example.org.\n x\u{a0}y";
    assert_eq!(Folder::new().translated("a.txt", text, &[]), text);
}

#[test]
fn a_text_of_one_line_without_a_full_stop_is_translated_whole() {
    let text = "the dog runs and the cat, too, sees the bird ".repeat(150);
    let folder = Folder::new();
    assert_eq!(folder.translated("a.txt", &text, &["--quiet"]), text);
    let output = folder.translate(&["--in", "a.txt"]);
    assert!(
        stderr(&output).contains("warning: the sentence that begins `the dog runs and"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_file_with_content_is_replaced_only_if_asked() {
    let folder = Folder::new();
    folder.write("a.txt", "One.");
    folder.write("b.txt", "months of work");
    let output = folder.translate(&["--in", "a.txt", "--out", "b.txt"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr(&output),
        "error: `b.txt` exists; choose another name, or replace it with --overwrite\n"
    );
    assert_eq!(folder.read("b.txt"), "months of work");
    let output = folder.translate(&["--in", "a.txt", "--out", "a.txt", "--overwrite"]);
    assert!(
        stderr(&output).contains("`a.txt` is both input and output"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn an_unknown_type_is_refused_with_the_list() {
    let folder = Folder::new();
    folder.write("a.xyz", "One.");
    let output = folder.translate(&["--in", "a.xyz"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).starts_with("error: `a.xyz` is of no known format; choose txt"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_failure_leaves_no_file() {
    let folder = Folder::new();
    fs::write(folder.path("a.txt"), b"One.\nTwo \xff.\n").expect("the folder is writable");
    let output = folder.translate(&["--in", "a.txt", "--out", "b.txt"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("error: `a.txt`, line 2: byte 5 of the line is not UTF-8"),
        "{}",
        stderr(&output)
    );
    let names = fs::read_dir(folder.folder.path()).expect("the folder is there");
    let names: Vec<String> = names
        .flatten()
        .map(|it| it.file_name().to_string_lossy().into_owned())
        .collect();
    assert!(
        !names
            .iter()
            .any(|name| name == "b.txt" || name.contains("unfinished")),
        "{names:?}"
    );
}

#[test]
fn a_document_of_standard_input_needs_a_format() {
    let folder = Folder::new();
    let output = folder.translate(&["--in", "-"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("give --format"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_format_may_be_given_for_a_file_with_another_extension() {
    let folder = Folder::new();
    assert_eq!(
        folder.translated("a.rst", "A dog.\n", &["--format", "txt"]),
        "A dog.\n"
    );
}

#[test]
fn a_flag_of_another_format_is_refused() {
    let folder = Folder::new();
    folder.write("a.txt", "One.");
    let output = folder.translate(&["--in", "a.txt", "--columns", "2"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr(&output),
        "error: `--columns` does not apply to documents in the format txt; leave it out\n"
    );
}

#[test]
fn a_packed_document_is_read_and_written() {
    let folder = Folder::new();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer
        .write_all(b"<p>A <b>dog</b>.</p>")
        .expect("memory can be written");
    let packed = packer.finish().expect("memory can be written");
    fs::write(folder.path("a.html.gz"), packed).expect("the folder is writable");
    let output = folder.translate(&["--in", "a.html.gz", "--quiet"]);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "<p>A <b>dog</b>.</p>"
    );
    let output = folder.translate(&["--in", "a.html.gz", "--out", "b.html.gz", "--quiet"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let packed = fs::File::open(folder.path("b.html.gz")).expect("it was written");
    let mut unpacked = String::new();
    let read = flate2::read::GzDecoder::new(packed).read_to_string(&mut unpacked);
    read.expect("it is gzip");
    assert_eq!(unpacked, "<p>A <b>dog</b>.</p>");
}

#[test]
fn tags_inside_of_strings_and_messages_stay() {
    let folder = Folder::new();
    let strings = r#"{"a": "A <b>dog</b> runs<br/>in <a href=\"x\">the park</a>.", "b": "{n, plural, one{# dog} other{# dogs}}"}"#;
    assert_eq!(folder.translated("a.json", strings, &[]), strings);
}

#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.write("out", "old");
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(folder.path("out"), private).expect("the file is there");
    folder.translated("a.txt", "One.", &[]);
    let mode = fs::metadata(folder.path("out"))
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[cfg(unix)]
#[test]
fn a_device_is_not_replaced() {
    let folder = Folder::new();
    folder.write("a.txt", "One.");
    let output = folder.translate(&["--in", "a.txt", "--out", "/dev/null", "--overwrite"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("`/dev/null` is not a regular file"),
        "{}",
        stderr(&output)
    );
}
