//! [`SubtitleOptions`]: the rules for ending passages of subtitles.

use std::time::Duration;

/// The format of subtitles.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SubtitleKind {
    /// SubRip, `.srt`.
    SubRip,
    /// WebVTT, `.vtt`.
    WebVtt,
}

/// The rules for ending passages of subtitles. Sentences run over the cues of a passage.
#[derive(Clone, Debug)]
pub struct SubtitleOptions {
    /// The pause between two cues that ends the passage if it is exceeded, unless the second cue continues an
    /// unfinished sentence in lower case. 3 seconds by default.
    pub pause: Duration,
    /// Maximum number of cues in a passage; once half of it is reached, a cue that ends a sentence ends the passage. 24
    /// by default; at least 1.
    pub max_cues: usize,
}

impl Default for SubtitleOptions {
    fn default() -> Self {
        Self {
            pause: Duration::from_secs(3),
            max_cues: 24,
        }
    }
}
