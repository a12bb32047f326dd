//! [`list_mark`]: the mark of a list item at the start of a line, such as `1.` or `•`.

use std::sync::LazyLock;

use regex::Regex;

use transformer_protection::kinds::pattern;

/// A bullet, dash or emoji; a task box; a letter or number with a bracket; a number with a full stop; a key.
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    let bullet = r"[-*+]|[\p{Pd}\p{So}•‣⁃·◦∙→⇒&&[^°©®\x{2100}-\x{214f}]][\p{So}\p{Sk}\p{M}\p{Cf}]*";
    let number = r"\d{1,3}(?:\.\d{1,3})*";
    let key = r"[0-9#*]\x{fe0f}?\x{20e3}";
    pattern(&format!(
        r"^\s*(?:{bullet}|\[[ xX]\]|\(?(?:{number}|[a-zA-Z]|[ivxIVX]+)\.?\)|{number}\.|{key})\s+"
    ))
});

/// Returns the length of the marks at the start of a line, including the whitespace around them; 0 if nothing follows
/// them.
pub(super) fn list_mark(line: &str) -> usize {
    let mut len = 0;
    while let Some(mark) = MARK.find(&line[len..]) {
        len += mark.len();
    }
    if len == line.len() { 0 } else { len }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_many_kinds_are_found() {
        for mark in [
            "1. ",
            " 12)  ",
            "(3) ",
            "1.2. ",
            "- ",
            "* ",
            "+ ",
            "• ",
            "– ",
            "a) ",
            "(B) ",
            "iv) ",
            "[ ] ",
            "- [x] ",
            "✓ ",
            "1️⃣ ",
            "🇩🇪 ",
            "🏴󠁧󠁢󠁥󠁮󠁧󠁿 ",
            "👩‍👩‍👧 ",
            "☀️ ",
        ] {
            assert_eq!(
                list_mark(&format!("{mark}A man runs.")),
                mark.len(),
                "{mark}"
            );
        }
    }

    #[test]
    fn amounts_initials_and_words_are_no_marks() {
        for line in [
            "-5 degrees",
            "1.5 million dogs",
            "2024. A year",
            "A. Smith runs.",
            "I. Newton",
            "5 dogs",
            "%@ runs",
            "$ 5",
            "© Smith",
            "(see there) A",
            "1.",
            "- ",
            "…and",
            "(the) dog",
        ] {
            assert_eq!(list_mark(line), 0, "{line}");
        }
    }
}
