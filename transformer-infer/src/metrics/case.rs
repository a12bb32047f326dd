//! Upper and lower case in scores.

use std::borrow::Cow;

/// Says whether upper case counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// It counts.
    #[default]
    Mixed,
    /// Both sides are turned to lower case before.
    Lower,
}

impl Case {
    /// Returns the name in sacreBLEU's signatures.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mixed => "mixed",
            Self::Lower => "lc",
        }
    }

    /// Returns the line as it is compared.
    pub(super) fn apply(self, line: &str) -> Cow<'_, str> {
        match self {
            Self::Mixed => Cow::Borrowed(line),
            Self::Lower => Cow::Owned(line.to_lowercase()),
        }
    }
}
