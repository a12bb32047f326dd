//! [`XmlFile`]: reads an XML document by the table of its format.

use encoding_rs::WINDOWS_1252;

use super::rules::{Element, LANGUAGE, ROOTS, XmlKind, XmlRules, attribute, has_subtags};
use super::table::table_parts;
use super::token::{TokenKind, each_token};
use crate::ReadError;
use crate::format::encoding::{CONVERT, Charset};
use crate::format::parts::{PartQueue, ReadParts};
use crate::format::source::Source;

const LANGUAGES: &str = "set `srclang` of the `header`, and use a model that names its languages";

/// Maximum size of an XML document, in bytes; it is read as a whole.
pub(in crate::format) const MAX_XML_BYTES: usize = 1 << 26;

#[derive(Debug)]
pub(in crate::format) struct XmlFile {
    /// The rules, if they are not those of the format that the outermost element belongs to.
    pub(in crate::format) rules: Option<XmlRules>,
    /// The language of the translation, for files with several.
    pub(in crate::format) tgt_lang: Option<String>,
    pub(in crate::format) is_step: bool,
}

impl ReadParts for XmlFile {
    fn read(&mut self, source: &mut Source, parts: &mut PartQueue) -> Result<bool, ReadError> {
        while !source.is_at_end() {
            source.fill()?;
            if source.text().len() > MAX_XML_BYTES {
                let problem =
                    format!("the document has more than {MAX_XML_BYTES} bytes, the limit");
                return Err(source.error(problem, "divide it"));
            }
        }
        let text = source.take(source.text().len());
        let label = label(&text).filter(|it| charset(it).is_none());
        if let Some(label) = label {
            let problem = format!("the document declares its encoding as `{label}`");
            return Err(source.syntax(1, problem, CONVERT));
        }
        let root = each_token(&text).find_map(|it| Some(Element::of(&it, "")?.name));
        let root = root.unwrap_or_default();
        let known = ROOTS.iter().find(|(name, _)| *name == root);
        let rules = match (&self.rules, known) {
            (Some(rules), _) => rules.clone(),
            (None, Some((_, XmlKind::Tmx))) => {
                let languages = self.languages(&text);
                let filled = languages.map_err(|it| source.syntax(1, it, LANGUAGES))?;
                XmlRules {
                    filled: Some(filled),
                    ..XmlKind::Tmx.rules()
                }
            }
            (None, Some((_, kind))) => kind.rules(),
            (None, None) => {
                let problem = format!(
                    "expected the element `resources`, `root`, `TS`, `xliff` or `tmx` outermost, found `{root}`"
                );
                return Err(source.syntax(1, problem, "give rules for another format"));
            }
        };
        if self.is_step && rules.filled.is_some() {
            return Err(source.bilingual());
        }
        let found = table_parts(&text, &rules)
            .map_err(|it| source.syntax(it.line, it.problem, "divide the document"))?;
        parts.extend(found);
        Ok(false)
    }
}

impl XmlFile {
    /// Returns the variants of a unit in the languages of the source and of the translation.
    fn languages(&self, memory: &str) -> Result<[String; 2], &'static str> {
        let of = |name: &'static str, key: &'static str| {
            each_token(memory).filter_map(move |it| {
                let element = Element::of(&it, "")?;
                attribute(element.tag, key).filter(|_| element.name == name)
            })
        };
        // Before version 1.4, the attribute was `lang`.
        let key = match of("tuv", LANGUAGE).next() {
            Some(_) => LANGUAGE,
            None => "lang",
        };
        let is_tgt = |code: &str| {
            let tgt = self.tgt_lang.as_deref();
            tgt.is_some_and(|tgt| has_subtags(code, tgt))
        };
        let src = match of("header", "srclang").next() {
            Some("*all*") => of("tuv", key).find(|it| !is_tgt(it)).unwrap_or_default(),
            src => src.ok_or("the header of the memory names no source language")?,
        };
        let other = || of("tuv", key).find(|it| !it.eq_ignore_ascii_case(src));
        let tgt = self.tgt_lang.as_deref().or_else(other);
        // A memory without variants is copied.
        let tgt = tgt.or_else(|| of("tuv", key).next().is_none().then_some(""));
        let tgt = tgt.ok_or("the language of the translation is not known")?;
        Ok([format!("tuv[{key}={src}]"), format!("tuv[{key}|={tgt}]")])
    }
}

/// Returns the encoding that a document declares, if it is known.
pub(in crate::format) fn declared(head: &[u8]) -> Option<Charset> {
    charset(label(&String::from_utf8_lossy(head))?)
}

fn charset(label: &str) -> Option<Charset> {
    match label.to_ascii_lowercase().as_str() {
        "us-ascii" | "ascii" => Some(Charset::UpTo(0x7f)),
        label => Charset::of_label(label).map(|it| match it {
            // On the web, the names of ISO 8859-1 stand for windows-1252.
            Charset::Standard(encoding) if encoding == WINDOWS_1252 && !label.contains("1252") => {
                Charset::LATIN_1
            }
            _ => it,
        }),
    }
}

fn label(text: &str) -> Option<&str> {
    let first = each_token(text).next()?;
    let is_declaration = first.kind == TokenKind::Declaration && first.source.starts_with("<?xml");
    let declared = first.source.split_once("encoding");
    let (_, after) = declared.filter(|_| is_declaration)?;
    after.split(['"', '\'']).nth(1)
}
