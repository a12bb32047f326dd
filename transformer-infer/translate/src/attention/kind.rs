//! [`Kind`] and [`Head`]: the kinds of attention in the model, and its heads.

use std::fmt;
use std::str::FromStr;

/// The kind of attention: encoder self-attention, decoder self-attention, or cross-attention (§3.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// The encoder's self-attention.
    Encoder,
    /// The decoder's self-attention.
    Decoder,
    /// The decoder's attention to the encoder's output.
    #[default]
    Cross,
}

impl Kind {
    /// All kinds, as the HTML page lists them.
    pub const ALL: [Self; 3] = [Self::Cross, Self::Encoder, Self::Decoder];

    /// Returns the name in commands and pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Encoder => "encoder",
            Self::Decoder => "decoder",
            Self::Cross => "cross",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A head of a layer, or the mean of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Head {
    /// The mean of all heads.
    #[default]
    Mean,
    /// One head, counted from 1.
    One(usize),
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => f.write_str("mean"),
            Self::One(head) => write!(f, "{head}"),
        }
    }
}

impl FromStr for Head {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.parse()) {
            ("mean", _) => Ok(Self::Mean),
            (_, Ok(head)) => Ok(Self::One(head)),
            (_, Err(_)) => Err("give the number of a head, counted from 1, or `mean`"),
        }
    }
}
