//! [`SubtitleOptions`]: where passages of subtitles end.

use std::time::Duration;

/// The format of subtitles.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SubtitleKind {
    /// SubRip, `.srt`.
    SubRip,
    /// WebVTT, `.vtt`.
    WebVtt,
}

/// Where passages of subtitles end. Sentences run over the cues of a passage.
#[derive(Clone, Debug)]
pub struct SubtitleOptions {
    /// A longer pause between two cues ends the passage, unless the second cue goes on in lower case what the first has
    /// not ended. 3 seconds by default.
    pub pause: Duration,
    /// Largest number of cues in a passage; from half of it on, a cue that ends a sentence ends the passage. 24 by
    /// default; at least 1.
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
