//! [`XmlRules`]: the table of an XML format: the elements with text, and the meaning of those inside it.

use serde::Deserialize;

use super::token::{Token, TokenKind};

pub(super) const LANGUAGE: &str = "xml:lang";

/// The rules of an XML format. An element that no rule names is copied.
///
/// An element is named as in the document, such as `w:p`, after its parent and a slash if that matters, as in
/// `data/value`, and with the value of an attribute if that matters, as in `string[translatable=false]`. `*` stands for
/// all names, and at the end of a value for any characters. `[xml:lang|=de]` is `de`, `de-AT` and so on. Codes of languages
/// have no case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct XmlRules {
    /// Elements with text: the content of each is a passage.
    pub passages: Vec<String>,
    /// Elements inside a passage that enclose words, such as formatting.
    pub inline: Vec<String>,
    /// Elements that are copied with all their content, even if they contain elements with text.
    pub copied: Vec<String>,
    /// Elements inside a passage that stand between words, such as tabs; other copied ones may touch words.
    pub visible: Vec<String>,
    /// Elements inside a passage that keep their order, such as the two ends of a bookmark.
    pub ordered: Vec<String>,
    /// Elements without meaning in a translation, such as the positions of page breaks. They go with the text that is
    /// replaced.
    pub dropped: Vec<String>,
    /// True if a line end in the text ends a passage.
    pub keeps_lines: bool,
    /// True if text has the escapes of Android: `\'`, `\n` and others.
    pub has_escapes: bool,
    /// The element with the source text, and its sibling for the translation, which is filled if it is empty.
    pub filled: Option<[String; 2]>,
    /// The element inside of both that has the text, if they have others, too.
    pub filled_text: Option<String>,
    /// The names of the runs of a paragraph, in formats in which each piece of text has its own formatting.
    pub runs: Option<RunNames>,
}

/// The names of the runs of a paragraph.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunNames {
    /// A run: text with its formatting.
    pub run: String,
    /// The formatting of a run.
    pub format: String,
    /// The text of a run.
    pub text: String,
    /// Elements of formatting without meaning in a translation, such as its language.
    #[serde(default)]
    pub ignored: Vec<String>,
    /// Attributes of formatting without meaning in a translation.
    #[serde(default)]
    pub ignored_attributes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::format) enum XmlKind {
    /// Paragraphs of WordprocessingML.
    Word,
    /// Paragraphs of DrawingML: slides, charts and text boxes.
    Drawing,
    /// Shared strings, inline strings and comments of SpreadsheetML.
    Sheet,
    /// OpenDocument: texts, spreadsheets and slides.
    OpenDocument,
    Android,
    /// Resources of .NET.
    Resx,
    QtLinguist,
    /// XLIFF 1.2 and 2.
    Xliff,
    /// Translation memories.
    Tmx,
}

/// The outermost elements of the formats that are a single XML document.
pub(super) const ROOTS: [(&str, XmlKind); 5] = [
    ("resources", XmlKind::Android),
    ("root", XmlKind::Resx),
    ("TS", XmlKind::QtLinguist),
    ("xliff", XmlKind::Xliff),
    ("tmx", XmlKind::Tmx),
];

impl XmlKind {
    pub(in crate::format) fn rules(self) -> XmlRules {
        match self {
            Self::Word => XmlRules {
                passages: names("w:p"),
                inline: names("w:hyperlink w:ins w:moveTo w:smartTag w:sdt w:dir w:bdo"),
                copied: names("w:del w:moveFrom w:pPr w:fldData"),
                visible: names("w:tab w:br w:cr w:ptab w:noBreakHyphen w:sym m:oMath m:oMathPara"),
                ordered: names(
                    "w:bookmarkStart w:bookmarkEnd w:commentRangeStart w:commentRangeEnd w:permStart w:permEnd \
                     w:moveFromRangeStart w:moveFromRangeEnd w:moveToRangeStart w:moveToRangeEnd",
                ),
                dropped: names("w:proofErr w:lastRenderedPageBreak w:softHyphen"),
                runs: Some(RunNames {
                    ignored: names("w:lang w:noProof"),
                    ..RunNames::new("w:r", "w:rPr", "w:t")
                }),
                ..Self::Drawing.rules()
            },
            Self::Drawing => XmlRules {
                passages: names("a:p"),
                visible: names("a:br a:fld"),
                copied: names("a:pPr a:endParaRPr"),
                runs: Some(RunNames {
                    ignored_attributes: names("lang altLang dirty err smtClean noProof"),
                    ..RunNames::new("a:r", "a:rPr", "a:t")
                }),
                ..XmlRules::default()
            },
            Self::Sheet => XmlRules {
                passages: names("si is text"),
                copied: names("rPh phoneticPr"),
                // They belong to the characters of the source.
                dropped: names("rPh phoneticPr"),
                keeps_lines: true,
                runs: Some(RunNames::new("r", "rPr", "t")),
                ..XmlRules::default()
            },
            Self::OpenDocument => XmlRules {
                passages: names("text:p text:h"),
                inline: names("text:span text:a text:meta text:ruby text:ruby-base"),
                visible: names("text:s text:tab text:line-break"),
                copied: names("text:tracked-changes text:ruby-text office:annotation/dc:creator"),
                ordered: names(
                    "text:bookmark-start text:bookmark-end text:reference-mark-start text:reference-mark-end \
                     office:annotation-end text:change-start text:change-end",
                ),
                dropped: names("text:soft-page-break"),
                ..XmlRules::default()
            },
            Self::Android | Self::Resx | Self::QtLinguist | Self::Xliff | Self::Tmx => {
                self.resources()
            }
        }
    }

    fn resources(self) -> XmlRules {
        match self {
            Self::Android => XmlRules {
                passages: names("string string-array/item plurals/item"),
                inline: names("*"),
                copied: names(
                    "string[translatable=false] string-array[translatable=false] plurals[translatable=false] xliff:g",
                ),
                visible: names("*"),
                has_escapes: true,
                ..XmlRules::default()
            },
            Self::Resx => XmlRules {
                passages: names("data/value"),
                copied: names(
                    // Names with `>>` are classes of the designer.
                    "data[type] data[mimetype] data[name=&gt;&gt;*] data[name=>>*] comment",
                ),
                keeps_lines: true,
                ..XmlRules::default()
            },
            Self::QtLinguist => XmlRules {
                copied: names("message[numerus=yes]"),
                keeps_lines: true,
                filled: Some(["source".to_owned(), "translation".to_owned()]),
                ..XmlRules::default()
            },
            Self::Xliff => XmlRules {
                inline: names("g pc mrk"),
                copied: names(
                    "trans-unit[translate=no] unit[translate=no] group[translate=no] file[translate=no] alt-trans \
                     mrk[translate=no] mrk[mtype=protected]",
                ),
                visible: names("*"),
                // Angular writes the tags of an element as two points.
                ordered: names(
                    "bpt ept bx ex sc ec sm em it x[id=START_*] x[id=CLOSE_*] ph[equiv=START_*] ph[equiv=CLOSE_*]",
                ),
                filled: Some(["source".to_owned(), "target".to_owned()]),
                ..XmlRules::default()
            },
            // The languages of `filled` are those of the file.
            Self::Tmx => XmlRules {
                inline: names("hi"),
                visible: names("*"),
                ordered: names("bpt ept it ph ut"),
                filled_text: Some("seg".to_owned()),
                ..XmlRules::default()
            },
            Self::Word | Self::Drawing | Self::Sheet | Self::OpenDocument => self.rules(),
        }
    }
}

impl RunNames {
    fn new(run: &str, format: &str, text: &str) -> Self {
        Self {
            run: run.to_owned(),
            format: format.to_owned(),
            text: text.to_owned(),
            ignored: Vec::new(),
            ignored_attributes: Vec::new(),
        }
    }
}

/// An element at its start tag, with the name of its parent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element<'a> {
    pub(super) name: &'a str,
    pub(super) tag: &'a str,
    pub(super) parent: &'a str,
}

impl<'a> Element<'a> {
    pub(super) fn of(token: &Token<'a>, parent: &'a str) -> Option<Self> {
        match token.kind {
            TokenKind::Start(name) | TokenKind::Empty(name) => Some(Self {
                name,
                tag: token.source,
                parent,
            }),
            _ => None,
        }
    }

    pub(super) fn is_in(&self, rules: &[String]) -> bool {
        rules.iter().any(|rule| self.matches(rule))
    }

    pub(super) fn matches(&self, rule: &str) -> bool {
        let (rule, condition) = match rule.strip_suffix(']').and_then(|it| it.split_once('[')) {
            Some((rule, condition)) => (rule, Some(condition)),
            None => (rule, None),
        };
        let (parent, name) = match rule.rsplit_once('/') {
            Some((parent, name)) => (Some(parent), name),
            None => (None, rule),
        };
        let has_value = |condition: &str| {
            let (name, wanted) = match condition.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (condition, None),
            };
            let is_wanted = |value: &str| {
                wanted.is_none_or(|it| match it.strip_suffix('*') {
                    Some(start) => value.starts_with(start),
                    None if name.ends_with("lang") => it.eq_ignore_ascii_case(value),
                    None => it == value,
                })
            };
            match name.strip_suffix('|') {
                // As in CSS: a code of a language stands for those that go on with a hyphen.
                Some(name) => attribute(self.tag, name)
                    .is_some_and(|value| wanted.is_some_and(|it| has_subtags(value, it))),
                None => attribute(self.tag, name).is_some_and(is_wanted),
            }
        };
        (name == "*" || name == self.name)
            && parent.is_none_or(|parent| parent == self.parent)
            && condition.is_none_or(has_value)
    }
}

/// Returns the value of an attribute in a tag, as written there.
pub(super) fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = tag;
    loop {
        let at = rest.find(name)?;
        let begins = rest[..at].ends_with(char::is_whitespace);
        rest = &rest[at + name.len()..];
        let value = rest.trim_start().strip_prefix('=').map(str::trim_start);
        let quote = value.and_then(|it| it.chars().next().filter(|c| matches!(c, '"' | '\'')));
        if let (true, Some(value), Some(quote)) = (begins, value, quote) {
            return value[1..].split(quote).next();
        }
    }
}

/// Returns whether a code of a language begins with the parts of another one.
pub(super) fn has_subtags(code: &str, start: &str) -> bool {
    let mut parts = code.split(['-', '_']);
    let mut starts = start.split(['-', '_']);
    starts.all(|it| {
        let part = parts.next();
        part.is_some_and(|part| part.eq_ignore_ascii_case(it))
    })
}

/// Returns the tags of an element that a rule names.
pub(super) fn tags(rule: &str) -> [String; 2] {
    let attribute = rule.strip_suffix(']').and_then(|it| it.split_once('['));
    match attribute.and_then(|(name, it)| Some((name, it.split_once('=')?))) {
        Some((name, (key, value))) => {
            let (key, value) = (key.trim_end_matches('|'), value.trim_end_matches('*'));
            [format!("<{name} {key}=\"{value}\">"), format!("</{name}>")]
        }
        None => [format!("<{rule}>"), format!("</{rule}>")],
    }
}

fn names(all: &str) -> Vec<String> {
    all.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(rule: &str, tag: &str, parent: &str) -> bool {
        let tokens = super::super::token::tokens(tag);
        let element = Element::of(&tokens[0], parent).expect("it is a start tag");
        element.is_in(&names(rule))
    }

    #[test]
    fn a_rule_names_an_element_its_parent_and_an_attribute() {
        assert!(matches("a b", "<b>", ""));
        assert!(!matches("a", "<b>", ""));
        assert!(matches("p/b", "<b/>", "p") && !matches("p/b", "<b/>", "q"));
        assert!(matches("b[x=no]", "<b ax='yes' x = 'no'>", ""));
        assert!(matches("b[x=n*]", "<b x='no'>", "") && !matches("b[x=n*]", "<b x='yn'>", ""));
        assert!(!matches("b[x=no]", "<b x=\"none\">", "") && !matches("b[x]", "<b ax=\"\">", ""));
        for (code, is_german) in [("de", true), ("DE-at", true), ("den", false), ("fr", false)] {
            let tag = format!("<b xml:lang='{code}'>");
            assert_eq!(matches("b[xml:lang|=de]", &tag, ""), is_german, "{code}");
        }
        assert!(matches("b[xml:lang=en-us]", "<b xml:lang='en-US'>", ""));
    }
}
