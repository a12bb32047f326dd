//! Subtitles: SubRip (`.srt`) and WebVTT (`.vtt`).

mod line;
mod passages;
mod reader;
mod text;

pub(super) use reader::Subtitles;
pub use reader::{SubtitleKind, SubtitleOptions};
