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

impl Defect {
    /// All defects, in the order of a report.
    pub(super) const ALL: [Self; 9] = [
        Self::Identical,
        Self::Copy,
        Self::Damaged,
        Self::Lengths,
        Self::Script,
        Self::Language,
        Self::Copied,
        Self::Numbers,
        Self::Repetition,
    ];

    /// Returns the name in the file of dropped pairs.
    pub(super) fn name(self) -> &'static str {
        self.names().0
    }

    /// Returns the name and the description.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Identical => ("identical", "identical to another"),
            Self::Copy => ("copy", "with equal sides"),
            Self::Damaged => ("damaged", "with damaged characters"),
            Self::Lengths => ("lengths", "with sides of too different lengths"),
            Self::Script => ("script", "in another script"),
            Self::Language => ("language", "in another language"),
            Self::Copied => ("copied", "with other placeholders, tags or addresses"),
            Self::Numbers => ("numbers", "with different numbers"),
            Self::Repetition => ("repetition", "with a repetition"),
        }
    }
}

impl fmt::Display for Defect {
    /// Writes the description: `with different numbers`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.names().1)
    }
}
