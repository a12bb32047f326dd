//! The translation of a request: texts and HTML, by one model or through a third language.

mod document;
mod finish;
mod pivot;
mod plain;
mod request;
mod round;
mod texts;
mod work;

pub(crate) use document::{TranslatedFile, translate_file};
pub(crate) use plain::MAX_ATTENTION_TOKENS;
pub(crate) use request::{
    SentenceEvent, SentenceTranslation, TextFormat, TextTranslation, TranslateOptions,
};
pub(crate) use round::translate_line;
pub(crate) use texts::{
    check_options, check_texts, glossary, of_term, translate_texts, translate_xml,
};
pub(crate) use work::{check_room, compute_step};
