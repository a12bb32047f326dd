//! [`Defect`]: a reason to leave out a pair.

use std::fmt;

/// A reason to leave out a pair: its sides do not translate each other, or it says nothing new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    /// A replacement character, a control character, or UTF-8 that was read as Latin-1.
    Damaged,
    /// The pair occurred before.
    Identical,
    /// Both sides are the same text of three words or more.
    Copy,
    /// One side is far longer than the other.
    Lengths,
    /// The letters are of a script that the language of the side does not use.
    Script,
    /// A side is in another language than most of the text.
    Language,
    /// A placeholder, a tag or an address is on one side only.
    Copied,
    /// Both sides have several numbers, and none in common.
    Numbers,
    /// One side repeats letters or words over and over.
    Repetition,
}

/// The defects with their names in the file of dropped pairs, and their descriptions, in the order of a report.
const NAMES: [(Defect, &str, &str); 9] = [
    (Defect::Identical, "identical", "identical to another"),
    (Defect::Copy, "copy", "with equal sides"),
    (Defect::Damaged, "damaged", "with damaged characters"),
    (
        Defect::Lengths,
        "lengths",
        "with sides of too different lengths",
    ),
    (Defect::Script, "script", "in another script"),
    (Defect::Language, "language", "in another language"),
    (
        Defect::Copied,
        "copied",
        "with other placeholders, tags or addresses",
    ),
    (Defect::Numbers, "numbers", "with different numbers"),
    (Defect::Repetition, "repetition", "with a repetition"),
];

impl Defect {
    /// Returns all defects, in the order of a report.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(defect, ..)| *defect)
    }

    /// Returns the name in the file of dropped pairs.
    pub(super) fn name(self) -> &'static str {
        self.names().0
    }

    fn names(self) -> (&'static str, &'static str) {
        let mut names = NAMES.iter().filter(|(defect, ..)| *defect == self);
        names
            .next()
            .map_or(("", ""), |(_, name, description)| (name, description))
    }
}

impl fmt::Display for Defect {
    /// Writes the description: `with different numbers`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.names().1)
    }
}
