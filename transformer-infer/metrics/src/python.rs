//! White space in Python's definition: four characters more than Unicode's property.

/// Returns whether Python's `str.split()` splits at this character.
pub fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

/// Splits a line at white space, as `line.split()` does.
pub(super) fn split(line: &str) -> impl Iterator<Item = &str> {
    line.split(is_space).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_separators_and_no_break_spaces_are_white_space() {
        let words: Vec<&str> = split(" a\u{1c}b\u{a0}\u{3000}c\u{200b}d ").collect();
        assert_eq!(words, ["a", "b", "c\u{200b}d"]);
    }
}
