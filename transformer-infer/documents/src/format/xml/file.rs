//! [`XmlFile`]: reads an XML document by the table of its format.

use super::rules::{Element, ROOTS, XmlRules};
use super::table::table_parts;
use super::token::{TokenKind, each_token};
use crate::ReadError;
use crate::format::parts::{PartQueue, ReadParts};
use crate::format::source::Source;

/// Maximum size of an XML document, in bytes; it is read as a whole.
pub(in crate::format) const MAX_XML_BYTES: usize = 1 << 26;

/// A reader of an XML document: by these rules, or by those of the format that its outermost element belongs to.
#[derive(Debug)]
pub(in crate::format) struct XmlFile(pub(in crate::format) Option<XmlRules>);

impl ReadParts for XmlFile {
    fn read_parts(
        &mut self,
        source: &mut Source,
        parts: &mut PartQueue,
    ) -> Result<bool, ReadError> {
        while !source.is_at_end() {
            source.fill()?;
            if source.text().len() > MAX_XML_BYTES {
                let problem =
                    format!("the document has more than {MAX_XML_BYTES} bytes, the limit");
                return Err(source.error(problem, "divide it"));
            }
        }
        let text = source.take(source.text().len());
        if let Some(encoding) = other_encoding(&text) {
            let problem =
                format!("the document declares its encoding as `{encoding}`, expected UTF-8");
            return Err(source.syntax(
                1,
                problem,
                "convert it, for example with `xmllint --encode UTF-8`",
            ));
        }
        let root = each_token(&text).find_map(|it| Some(Element::of(&it, "")?.name));
        let root = root.unwrap_or_default();
        let known = ROOTS.iter().find(|(name, _)| *name == root);
        let known = || known.map(|(_, kind)| kind.rules());
        let Some(rules) = self.0.clone().or_else(known) else {
            let problem = format!(
                "expected the element `resources`, `root`, `TS` or `xliff` outermost, found `{root}`"
            );
            return Err(source.syntax(1, problem, "give rules for another format"));
        };
        let found = table_parts(&text, &rules);
        parts
            .extend(found.map_err(|it| source.syntax(it.line, it.problem, "divide the document"))?);
        Ok(false)
    }
}

/// Returns the encoding that the document declares, if its text may not be written as UTF-8.
fn other_encoding(text: &str) -> Option<&str> {
    let first = each_token(text).next()?;
    let is_declaration = first.kind == TokenKind::Declaration && first.source.starts_with("<?xml");
    let (_, after) = first
        .source
        .split_once("encoding")
        .filter(|_| is_declaration)?;
    let name = after.split(['"', '\'']).nth(1)?;
    (!name.eq_ignore_ascii_case("utf-8")).then_some(name)
}
