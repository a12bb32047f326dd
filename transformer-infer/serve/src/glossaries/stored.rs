//! [`StoredGlossary`]: a glossary as it is in a file: its description in the first line, and below it the entries of its
//! dictionaries, one a line; [`read_entries`]: entries in the formats of DeepL's interface.

use std::io::{self, BufRead, Error, ErrorKind};
use std::time::{Duration, UNIX_EPOCH};

use csv::{ReaderBuilder, StringRecord};
use serde::{Deserialize, Serialize};
use transformer_core::text::LanguageCode;
use utoipa::ToSchema;

use crate::http::ApiError;

/// The source and the target language of a dictionary, without regions, in small letters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[schema(as = deepl::LanguagePair, description = "A pair of languages of which there may be glossaries.")]
pub(crate) struct Pair {
    pub(crate) source_lang: String,
    pub(crate) target_lang: String,
}

impl Pair {
    /// Returns the languages of two codes, without their regions; `None` if one is not a code.
    pub(crate) fn new(source: &str, target: &str) -> Option<Self> {
        let language = |code: &str| {
            let code: LanguageCode = code.parse().ok()?;
            Some(code.language().to_owned())
        };
        Some(Self {
            source_lang: language(source)?,
            target_lang: language(target)?,
        })
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GlossaryInfo {
    /// The id, which is the name of the file.
    #[serde(skip)]
    pub(crate) id: String,
    pub(crate) name: String,
    /// The account of the key that created it, if keys are required.
    pub(super) account: Option<String>,
    /// The time of its creation, as in ISO 8601.
    pub(crate) creation_time: String,
    pub(crate) dictionaries: Vec<DictionaryInfo>,
}

/// The description of a dictionary.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = deepl::Dictionary)]
pub(crate) struct DictionaryInfo {
    pub(crate) source_lang: String,
    pub(crate) target_lang: String,
    /// Number of entries.
    pub(crate) entry_count: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Dictionary {
    pub(crate) pair: Pair,
    pub(crate) entries: Entries,
}

#[derive(Clone, Debug)]
pub(crate) struct StoredGlossary {
    pub(crate) name: String,
    pub(super) account: Option<String>,
    pub(super) creation_time: String,
    pub(crate) dictionaries: Vec<Dictionary>,
}

impl GlossaryInfo {
    pub(super) fn read(id: &str, file: &mut impl BufRead) -> io::Result<Self> {
        let mut line = String::new();
        file.read_line(&mut line)?;
        let info: Self = serde_json::from_str(&line)?;
        Ok(Self {
            id: id.to_owned(),
            ..info
        })
    }

    pub(super) fn with_entries(self, file: &mut impl BufRead) -> io::Result<StoredGlossary> {
        let mut lines = file.lines();
        let mut entry = || {
            let line = lines.next().transpose()?;
            let terms = line.as_deref().and_then(|line| line.split_once('\t'));
            let (source, target) = terms.ok_or(Error::from(ErrorKind::InvalidData))?;
            Ok((source.to_owned(), target.to_owned()))
        };
        let mut dictionaries = Vec::new();
        for info in self.dictionaries {
            let entries = (0..info.entry_count).map(|_| entry());
            let entries = entries.collect::<io::Result<Entries>>()?;
            let pair = Pair {
                source_lang: info.source_lang,
                target_lang: info.target_lang,
            };
            dictionaries.push(Dictionary { pair, entries });
        }
        Ok(StoredGlossary {
            name: self.name,
            account: self.account,
            creation_time: self.creation_time,
            dictionaries,
        })
    }
}

impl Dictionary {
    pub(crate) fn info(&self) -> DictionaryInfo {
        let pair = self.pair.clone();
        DictionaryInfo {
            source_lang: pair.source_lang,
            target_lang: pair.target_lang,
            entry_count: self.entries.len(),
        }
    }
}

impl StoredGlossary {
    pub(super) fn new(name: String, account: Option<&str>, dictionaries: Vec<Dictionary>) -> Self {
        Self {
            name,
            account: account.map(str::to_owned),
            creation_time: utc(UNIX_EPOCH.elapsed().unwrap_or_default()),
            dictionaries,
        }
    }

    pub(crate) fn of_pair(&self, pair: &Pair) -> Option<&Dictionary> {
        self.dictionaries.iter().find(|it| it.pair == *pair)
    }

    pub(super) fn info(&self, id: &str) -> GlossaryInfo {
        let dictionaries = self.dictionaries.iter();
        GlossaryInfo {
            id: id.to_owned(),
            name: self.name.clone(),
            account: self.account.clone(),
            creation_time: self.creation_time.clone(),
            dictionaries: dictionaries.map(Dictionary::info).collect(),
        }
    }

    pub(super) fn written(&self) -> io::Result<Vec<u8>> {
        let mut text = serde_json::to_string(&self.info(""))?;
        text.push('\n');
        for (source, target) in self.dictionaries.iter().flat_map(|it| &it.entries) {
            text.extend([source, "\t", target, "\n"]);
        }
        Ok(text.into_bytes())
    }
}

/// Returns a time since 1970, in UTC.
fn utc(since_1970: Duration) -> String {
    let (seconds, millisecond) = (since_1970.as_secs(), since_1970.subsec_millis());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years of this calendar begin in March, so that a leap day is the last day of a year. Day 0 is March 1st of year 0.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = match month {
        0..=9 => (era * 400 + year, month + 3),
        _ => (era * 400 + year + 1, month - 9),
    };
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z")
}

pub(crate) type Entries = Vec<(String, String)>;

/// Reads the entries of a dictionary in `tsv` or `csv`. A row of CSV may name the languages in two more columns; rows of
/// other languages are left out. Errors count lines from 1.
pub(crate) fn read_entries(format: &str, text: &str, pair: &Pair) -> Result<Entries, ApiError> {
    let entries = match format {
        "tsv" => of_tsv(text),
        "csv" => of_csv(text, pair),
        _ => {
            let text = "Value for 'entries_format' not supported.";
            return Err(ApiError::request(text));
        }
    };
    let entries = entries.and_then(|entries| match entries.is_empty() {
        true => Err("there are none".to_owned()),
        false => Ok(entries),
    });
    entries.map_err(invalid)
}

pub(super) fn invalid(reason: impl AsRef<str>) -> ApiError {
    let reason = reason.as_ref();
    ApiError::request(format!("Invalid glossary entries provided: {reason}"))
}

/// Returns an entry without spaces around its terms, if both have text without control characters.
fn entry(line: u64, source: &str, target: &str) -> Result<(String, String), String> {
    let is_wrong = |term: &str| term.is_empty() || term.contains(char::is_control);
    let (source, target) = (source.trim(), target.trim());
    match is_wrong(source) || is_wrong(target) {
        true => Err(format!(
            "line {line} has an empty term, or one with a control character"
        )),
        false => Ok((source.to_owned(), target.to_owned())),
    }
}

fn of_tsv(text: &str) -> Result<Entries, String> {
    let lines = (1..).zip(text.lines());
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| match line.split_once('\t') {
            Some((source, target)) => entry(number, source, target),
            None => Err(format!("line {number} has no tab between two terms")),
        })
        .collect()
}

fn of_csv(text: &str, pair: &Pair) -> Result<Entries, String> {
    let mut reader = ReaderBuilder::new();
    let reader = reader.has_headers(false).flexible(true);
    let mut reader = reader.from_reader(text.as_bytes());
    let mut entries = Vec::new();
    for row in reader.records() {
        let row: StringRecord = row.map_err(|error| error.to_string())?;
        let line = row.position().map_or(0, csv::Position::line);
        let columns: Vec<&str> = row.iter().collect();
        match columns[..] {
            [source, target] => entries.push(entry(line, source, target)?),
            [source, target, from, to] => {
                if Pair::new(from, to).as_ref() == Some(pair) {
                    entries.push(entry(line, source, target)?);
                }
            }
            _ => {
                let n_columns = columns.len();
                return Err(format!(
                    "line {line} has {n_columns} columns, expected two terms, or two terms and their languages"
                ));
            }
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_program_date() {
        // `date -u -d @951782400 +%FT%T.000Z`
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(utc(Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn a_pair_has_no_regions() {
        let pair = Pair::new("EN-US", "pt-BR").map(|it| (it.source_lang, it.target_lang));
        assert_eq!(pair, Some(("en".to_owned(), "pt".to_owned())));
    }

    fn read(format: &str, text: &str) -> Result<Entries, String> {
        let pair = Pair::new("EN", "de").expect("these are codes");
        read_entries(format, text, &pair).map_err(|error| error.to_string())
    }

    fn owned(entries: &[(&str, &str)]) -> Entries {
        let entries = entries.iter();
        entries
            .map(|(source, target)| ((*source).to_owned(), (*target).to_owned()))
            .collect()
    }

    #[test]
    fn lines_of_tsv_are_entries() {
        let entries = read("tsv", "a b\tc\r\n\n d \t e\t f\n");
        assert_eq!(
            entries.expect_err("a tab is in a term"),
            "Invalid glossary entries provided: line 3 has an empty term, or one with a control character"
        );
        let entries = read("tsv", "a b\tc\r\n\n d \t e\n").expect("it is right");
        assert_eq!(entries, owned(&[("a b", "c"), ("d", "e")]));
    }

    #[test]
    fn rows_of_csv_may_be_quoted_and_name_their_languages() {
        let text = "a,b,en,de\n\"s\"\"t\",\"x,y\",EN,DE-AT\nc,d,de,en\ne,f\n";
        let entries = read("csv", text).expect("it is right");
        assert_eq!(entries, owned(&[("a", "b"), ("s\"t", "x,y"), ("e", "f")]));
    }

    #[test]
    fn wrong_entries_are_refused_by_their_line() {
        for (format, text, reason) in [
            ("tsv", "a\tb\nc\n", "line 2 has no tab between two terms"),
            ("tsv", "\n", "there are none"),
            (
                "csv",
                "a,b\nc\n",
                "line 2 has 1 columns, expected two terms, or two terms and their languages",
            ),
            ("csv", "a,b,de,en\n", "there are none"),
        ] {
            let expected = format!("Invalid glossary entries provided: {reason}");
            assert_eq!(read(format, text), Err(expected));
        }
        assert!(read("json", "{}").is_err());
    }
}
