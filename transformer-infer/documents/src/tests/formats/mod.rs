//! The formats of documents: copies are equal byte for byte, and a changed text is read back as it was written.

mod check;
mod html;
mod json;
mod markdown;
mod package;
mod pairs;
mod po;
mod subtitles;
mod table;
mod xml;
