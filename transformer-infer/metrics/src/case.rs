//! [`Case`]: upper and lower case in metrics.

use std::borrow::Cow;

/// The treatment of upper and lower case by a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// Upper and lower case differ.
    #[default]
    Mixed,
    /// Both sides are converted to lower case first.
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

    /// Returns the line in the case for comparison.
    pub(super) fn apply(self, line: &str) -> Cow<'_, str> {
        match self {
            Self::Mixed => Cow::Borrowed(line),
            Self::Lower => Cow::Owned(line.to_lowercase()),
        }
    }
}
