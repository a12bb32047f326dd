//! Every program prints the output in the book, draws its pictures, and records its data.
//!
//! `NAME.txt` beside a program is the output at the time its chapter was written; `cargo xtask book --update` rewrites
//! it. Numbers may differ by one unit of their last digit, because processors round matrix products differently. After
//! training, differences grow; [`TRAINED`] states their limits. The numbers themselves are right because the programs
//! compute them in two ways, and because of the tests of the crates.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The programs that train a model, each with the maximum difference of its numbers, as a share of the larger one.
///
/// They take seconds, and run only with `RUN_SLOW_TESTS=1`, one after the other in one folder, because `19_view` needs
/// the model of `19_translator`. Of their pictures and data, only the titles are compared.
const TRAINED: [(&str, f64); 6] = [
    // Losses, printed with one decimal.
    ("11_copy_task", 0.5),
    // Numbers of sentences that are right, of 200.
    ("16_attention_maps", 0.05),
    // Losses with three decimals, of checkpoints that wander.
    ("17_networks", 0.7),
    // Numbers of sentences, and BLEU.
    ("19_translator", 0.05),
    // Translations, which are right.
    ("19_view", 0.0),
    // Texts that must be right.
    ("21_gpt_and_bert", 0.0),
];

#[test]
fn programs_that_only_compute_print_and_draw_what_the_book_shows() {
    let names = programs();
    assert!(names.len() > 10, "the programs are found");
    let scratch = scratch();
    for name in names.iter().filter(|name| tolerance(name).is_none()) {
        check(name, None, scratch.path());
    }
}

#[test]
fn programs_that_train_print_about_what_the_book_shows() {
    if env::var_os("RUN_SLOW_TESTS").is_none() {
        println!("skipped: training takes a minute; set RUN_SLOW_TESTS=1");
        return;
    }
    let scratch = scratch();
    for name in programs() {
        if let Some(tolerance) = tolerance(&name) {
            check(&name, Some(tolerance), scratch.path());
        }
    }
}

#[test]
fn every_picture_is_drawn_by_a_program() {
    let sources = programs().into_iter().map(|name| {
        fs::read_to_string(programs_folder().join(format!("{name}.rs")))
            .expect("the program is readable")
    });
    let sources: String = sources.collect();
    let is_drawn = |path: &PathBuf| {
        let name = path.file_stem().expect("a picture has a name").to_string_lossy();
        let writes = [".save", ".save_data", "save_data"].map(|it| format!("{it}(\"{name}\""));
        writes.iter().any(|it| sources.contains(it))
    };
    let all = ["svg", "js"].into_iter().flat_map(|extension| files(&pictures(), extension));
    let orphans: Vec<PathBuf> = all.filter(|path| !is_drawn(path)).collect();
    assert_eq!(orphans, Vec::<PathBuf>::new());
}

fn tolerance(name: &str) -> Option<f64> {
    TRAINED.iter().find(|(trained, _)| *trained == name).map(|(_, tolerance)| *tolerance)
}

fn programs_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin")
}

fn pictures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/chapters/pictures")
}

/// Returns the files of a folder with an extension, sorted.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder exists");
    let paths = entries.map(|entry| entry.expect("the folder is readable").path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|it| it == extension)).collect();
    paths.sort();
    paths
}

fn programs() -> Vec<String> {
    let stem = |path: PathBuf| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    files(&programs_folder(), "rs").into_iter().filter_map(stem).collect()
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder can be made")
}

/// Runs a program in a folder, and compares its output, its pictures and its data; `tolerance` is that of a program
/// that trains.
fn check(name: &str, tolerance: Option<f64>, folder: &Path) {
    let drawn = folder.join(name);
    // Cargo builds all programs of the package into one folder before this test.
    let program = Path::new(env!("CARGO_BIN_EXE_00_why"))
        .with_file_name(format!("{name}{}", env::consts::EXE_SUFFIX));
    let output = Command::new(&program).arg(&drawn).current_dir(folder).output();
    let output =
        output.unwrap_or_else(|error| panic!("`{}` cannot be run: {error}", program.display()));
    assert!(output.status.success(), "{name} fails: {}", String::from_utf8_lossy(&output.stderr));
    let expected = fs::read_to_string(programs_folder().join(format!("{name}.txt")));
    let expected = expected
        .unwrap_or_else(|_| panic!("{name}.txt is missing; run `cargo xtask book --update`"));
    let found = String::from_utf8(output.stdout).expect("programs print UTF-8");
    if let Some(difference) = difference(&expected, &found, tolerance.unwrap_or(0.0)) {
        panic!("{name} prints something else: {difference}");
    }
    let extensions = ["svg", "js"].into_iter();
    let drawn = extensions.filter(|_| drawn.is_dir()).flat_map(|it| files(&drawn, it));
    for drawn in drawn {
        let file = drawn.file_name().expect("a picture has a name");
        let committed = fs::read_to_string(pictures().join(file));
        let committed = committed.unwrap_or_else(|_| {
            panic!("{} is missing; run `cargo xtask book --update`", file.display())
        });
        let drawn = fs::read_to_string(&drawn).expect("the picture was just written");
        // A picture begins with its size, data with a comment.
        let title =
            |file: &str| file.lines().nth(1).map(|it| it.chars().take(60).collect::<String>());
        let difference = match tolerance {
            None => difference(&committed, &drawn, 0.0),
            Some(_) => (title(&committed) != title(&drawn)).then(|| "the title".to_owned()),
        };
        if let Some(difference) = difference {
            panic!("{name} draws {} differently: {difference}", file.display());
        }
    }
}

/// Returns the first line in which two texts differ by more than rounding and the tolerance.
fn difference(expected: &str, found: &str, tolerance: f64) -> Option<String> {
    let (expected_lines, found_lines) = (expected.lines().count(), found.lines().count());
    if expected_lines != found_lines {
        return Some(format!("{found_lines} lines instead of {expected_lines}"));
    }
    let mut lines = expected.lines().zip(found.lines());
    let differs = |expected: &str, found: &str| {
        let (expected, found) = (parts(expected), parts(found));
        let is_same = |(one, other): (&Part, &Part)| one.is_like(other, tolerance);
        expected.len() != found.len() || !expected.iter().zip(&found).all(is_same)
    };
    let (expected, found) = lines.find(|(expected, found)| differs(expected, found))?;
    Some(format!("`{found}` instead of `{expected}`"))
}

/// A piece of a line.
#[derive(Debug, PartialEq)]
enum Part {
    Text(String),
    Number {
        value: f64,
        /// The unit of its last digit.
        unit: f64,
    },
}

impl Part {
    fn is_like(&self, other: &Self, tolerance: f64) -> bool {
        match (self, other) {
            (Self::Number { value, unit }, Self::Number { value: other, unit: other_unit }) => {
                let rounding = unit.max(*other_unit) * 1.001;
                (value - other).abs() <= rounding.max(tolerance * value.abs().max(other.abs()))
            }
            _ => self == other,
        }
    }
}

/// Divides a line into numbers and the texts between them; spaces do not count.
fn parts(line: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    for word in line.split([' ', ',', '"', '<', '>']).filter(|word| !word.is_empty()) {
        let mut rest = word;
        while !rest.is_empty() {
            let is_start = |(at, _): &(usize, char)| number_at(&rest[*at..]).is_some();
            let start = rest.char_indices().find(is_start).map_or(rest.len(), |(at, _)| at);
            if start > 0 {
                parts.push(Part::Text(rest[..start].to_owned()));
                rest = &rest[start..];
            }
            if let Some((number, len)) = number_at(rest) {
                parts.push(number);
                rest = &rest[len..];
            }
        }
    }
    parts
}

/// Reads the number with which a text begins, and returns it with its length in bytes.
fn number_at(text: &str) -> Option<(Part, usize)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let sign = usize::from(text.starts_with('-'));
    let whole = digits(&text[sign..]);
    if whole == 0 {
        return None;
    }
    let mut len = sign + whole;
    let decimals = text[len..].strip_prefix('.').map_or(0, digits);
    if decimals > 0 {
        len += 1 + decimals;
    }
    let mut exponent = 0;
    if let Some(power) = text[len..].strip_prefix('e') {
        let sign = usize::from(power.starts_with('-'));
        let power_len = sign + digits(&power[sign..]);
        if let Ok(value) = power[..power_len].parse::<i32>() {
            exponent = value;
            len += 1 + power_len;
        }
    }
    let value = text[..len].parse().ok()?;
    let unit = 10_f64.powi(exponent - decimals as i32);
    Some((Part::Number { value, unit }, len))
}

#[test]
fn numbers_may_differ_by_one_unit_of_their_last_digit() {
    assert_eq!(difference("loss 0.123 at 5", "loss 0.124 at 5", 0.0), None);
    assert_eq!(difference("p  1.1e-9", "p 1.2e-9", 0.0), None);
    assert!(difference("loss 0.123", "loss 0.125", 0.0).is_some());
}

#[test]
fn a_tolerance_is_a_share_of_the_number() {
    assert_eq!(difference("loss 10.0", "loss 11.0", 0.1), None);
    assert!(difference("loss 10.0", "loss 12.0", 0.1).is_some());
}

#[test]
fn other_words_are_a_difference() {
    assert!(difference("a dog 1", "a cat 1", 0.5).is_some());
    assert!(difference("a\nb", "a", 0.5).is_some());
}
