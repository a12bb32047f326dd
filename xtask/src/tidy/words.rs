//! Words that have a standard term in the field, which is used instead.
//!
//! The names in code are compared, and the text of documents and comments. Only words that have no other use
//! are in the lists, so that a problem is never a false alarm.

use super::problem::Problem;
use super::tokens::tokens;
use super::tree::{TextFile, Tree};

/// Names in code, each with what to write instead.
const NAMES: [(&str, &str); 5] = [
    ("place", "`position`, `index` or `path`"),
    ("places", "`positions`, `indices` or `paths`"),
    ("is_in_memory", "`is_cpu_memory`"),
    ("OnHost", "`CpuOp`"),
    ("Surroundings", "`RunEnvironment`"),
];

/// Expressions in any text, each with what to write instead.
const TEXTS: [(&str, &str); 3] = [
    ("the computer's memory", "CPU memory"),
    ("lets go of", "drops"),
    ("ever other", "varying"),
];

/// Documents that quote old words: the history of changes, and of measurements.
const HISTORY: [&str; 2] = ["CHANGELOG.md", "docs/lab-notes.md"];

/// The list itself.
const THIS: &str = "xtask/src/tidy/words.rs";

/// Checks sources and documents.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let names = tree.ending(".rs").flat_map(names);
    let documents = tree
        .ending(".md")
        .filter(|file| !HISTORY.contains(&file.path.as_str()));
    let texts = tree.ending(".rs").chain(documents).flat_map(texts);
    names.chain(texts).collect()
}

fn names(file: &TextFile) -> Vec<Problem> {
    let tokens = tokens(&file.text).into_iter();
    let found = tokens.filter_map(|token| {
        let (word, instead) = NAMES.iter().find(|(word, _)| *word == token.text)?;
        Some(problem(file, token.line, word, instead))
    });
    let mut problems: Vec<Problem> = found.collect();
    problems.dedup(); // a name is often used twice in a line
    problems
}

fn texts(file: &TextFile) -> Vec<Problem> {
    let lines = file.text.lines().zip(1..).filter(|_| file.path != THIS);
    let found = lines.flat_map(|(line, number)| {
        let words = TEXTS.iter().filter(move |(word, _)| line.contains(word));
        words.map(move |(word, instead)| problem(file, number, word, instead))
    });
    found.collect()
}

fn problem(file: &TextFile, line: usize, word: &str, instead: &str) -> Problem {
    Problem {
        location: format!("{}:{line}", file.path),
        message: format!("`{word}`: write {instead}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(path: &str, text: &str) -> Vec<String> {
        Tree::faults_of(check, path, text)
    }

    #[test]
    fn names_in_code_are_found_with_their_line() {
        assert_eq!(
            faults("a.rs", "fn f() {\n    let place = 1;\n}"),
            ["a.rs:2: `place`: write `position`, `index` or `path`"]
        );
    }

    #[test]
    fn words_in_comments_and_longer_names_are_not_names() {
        assert!(faults("a.rs", "// in place\nlet replaced = \"place\";").is_empty());
    }

    #[test]
    fn expressions_are_found_in_documents_except_the_history() {
        let text = format!("kept in the {} memory", "computer's");
        assert_eq!(faults("a.md", &text).len(), 1);
        assert!(faults("CHANGELOG.md", &text).is_empty());
    }
}
