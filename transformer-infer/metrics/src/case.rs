//! [`Case`]: upper and lower case in metrics.

use std::borrow::Cow;

/// Whether a metric distinguishes upper and lower case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// It does.
    #[default]
    Mixed,
    /// It does not: both sides are converted to lower case first.
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

    /// Returns the line in the case that is compared.
    pub(super) fn apply(self, line: &str) -> Cow<'_, str> {
        match self {
            Self::Mixed => Cow::Borrowed(line),
            Self::Lower => Cow::Owned(line.to_lowercase()),
        }
    }
}
