//! Subtitles: SubRip (`.srt`) and WebVTT (`.vtt`).

mod blocks;
mod line;
mod options;
mod passages;
mod reader;
mod tag;
mod text;
mod time;

pub use options::{SubtitleKind, SubtitleOptions};
pub(super) use reader::Subtitles;
