//! [`needs_space`]: decides whether to leave a space where something between two characters was taken out.

/// Number of sides with whitespace of something that was taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spaces {
    None,
    OneSide,
    BothSides,
}

impl Spaces {
    pub(super) fn on(before: bool, behind: bool) -> Self {
        match (before, behind) {
            (true, true) => Self::BothSides,
            (false, false) => Self::None,
            _ => Self::OneSide,
        }
    }
}

/// Characters without a space after them.
const OPENING: &str = "([{¿¡«“„‘‚";

/// Characters without a space before them.
const CLOSING: &str = ".,;:!?)]}»”’…%。，、！？";

/// Returns whether to leave a space between these characters, where something was taken out: two words stay apart, and
/// whitespace on one side is kept unless it would be inside a bracket or before a full stop.
pub(super) fn needs_space(before: Option<char>, behind: Option<char>, spaces: Spaces) -> bool {
    let (Some(before), Some(behind)) = (before, behind) else {
        return false;
    };
    if before.is_whitespace() || behind.is_whitespace() {
        return false;
    }
    match spaces {
        Spaces::None => before.is_alphanumeric() && behind.is_alphanumeric(),
        Spaces::OneSide => !OPENING.contains(before) && !CLOSING.contains(behind),
        Spaces::BothSides => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(before: char, behind: char, spaces: Spaces) -> bool {
        needs_space(Some(before), Some(behind), spaces)
    }

    #[test]
    fn words_stay_apart() {
        assert!(needs('a', 'b', Spaces::None));
        assert!(!needs('a', '.', Spaces::None));
    }

    #[test]
    fn a_space_on_one_side_is_not_inside_of_a_bracket_or_before_a_full_stop() {
        assert!(needs('a', '(', Spaces::OneSide));
        assert!(!needs('(', 'a', Spaces::OneSide));
        assert!(!needs('a', '.', Spaces::OneSide));
    }

    #[test]
    fn spaces_on_both_sides_are_one_and_none_is_added_to_another() {
        assert!(needs('a', '.', Spaces::BothSides));
        assert!(!needs(' ', 'a', Spaces::BothSides));
        assert!(!needs_space(None, Some('a'), Spaces::BothSides));
    }
}
