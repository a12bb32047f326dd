//! [`Header`]: the settings in the header of a catalog.

use super::line::{Keyword, Line};

/// The settings in the header of a catalog.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Header {
    /// True if `msgstr[0]` also covers numbers other than 0 and 1.
    has_many_in_first_form: bool,
}

/// A catalog in a charset other than UTF-8.
#[derive(Debug)]
pub(super) struct ForeignCharset {
    pub(super) name: String,
    /// Index of the header's line that names the charset.
    pub(super) line: usize,
}

impl Header {
    /// Reads a header, given its text and its lines. Replaces a template's charset, and ASCII, by UTF-8, since
    /// translations need more characters.
    pub(super) fn read(text: &str, lines: &mut [Line]) -> Result<Self, ForeignCharset> {
        let plural = field(text, "plural-forms").and_then(|forms| forms.split_once("plural="));
        let has_many_in_first_form = plural.is_some_and(|(_, formula)| {
            let formula = formula.replace([' ', '(', ')', ';'], "");
            let is_singular = ["n!=1", "n>1", "n==1?0:1"].contains(&formula.as_str());
            !is_singular && !formula.starts_with("n==1?0:")
        });
        let charset = field(text, "content-type").and_then(|it| it.split_once("charset="));
        if let Some((_, name)) = charset {
            let name = name.split([';', ' ']).next().unwrap_or_default().to_owned();
            let declares = |line: &Line| line.source.contains(&format!("charset={name}"));
            let line = lines.iter().position(declares).unwrap_or(0);
            match name.to_ascii_uppercase().as_str() {
                "UTF-8" | "UTF8" | "" => {}
                "CHARSET" | "ASCII" | "US-ASCII" | "ANSI_X3.4-1968" => {
                    if let Some(line) = lines.get_mut(line) {
                        line.recode(&name);
                    }
                }
                _ => return Err(ForeignCharset { name, line }),
            }
        }
        Ok(Self {
            has_many_in_first_form,
        })
    }

    /// Returns the keyword of the source text for a form of the plural, if the message has two texts.
    pub(super) fn source_of(self, form: Keyword, n_forms: usize) -> Keyword {
        let is_singular = form == Keyword::Singular && n_forms > 1 && !self.has_many_in_first_form;
        match is_singular {
            true => Keyword::Id,
            false => Keyword::Plural,
        }
    }
}

/// Returns a field of a header.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    let mut found = fields.filter(|(it, _)| it.trim().eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value.trim())
}
