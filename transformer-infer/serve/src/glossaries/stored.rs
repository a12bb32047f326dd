//! [`StoredGlossary`]: a glossary as it is in a file: its description in the first line, and below it the entries of its
//! dictionaries, one a line.

use std::io::{self, BufRead, Error, ErrorKind};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use transformer_core::text::LanguageCode;

use super::Entries;

/// The source and the target language of a dictionary, without regions, in small letters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// The description of a glossary.
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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DictionaryInfo {
    #[serde(flatten)]
    pub(crate) pair: Pair,
    /// Number of entries.
    pub(crate) entry_count: usize,
}

/// The entries of a pair of languages.
#[derive(Clone, Debug)]
pub(crate) struct Dictionary {
    pub(crate) pair: Pair,
    pub(crate) entries: Entries,
}

/// A glossary with its entries.
#[derive(Clone, Debug)]
pub(crate) struct StoredGlossary {
    pub(crate) name: String,
    pub(super) account: Option<String>,
    pub(super) creation_time: String,
    pub(crate) dictionaries: Vec<Dictionary>,
}

impl GlossaryInfo {
    /// Reads the description at the beginning of a file.
    pub(super) fn read(id: &str, file: &mut impl BufRead) -> io::Result<Self> {
        let mut line = String::new();
        file.read_line(&mut line)?;
        let info: Self = serde_json::from_str(&line)?;
        Ok(Self {
            id: id.to_owned(),
            ..info
        })
    }

    /// Reads the entries after the description.
    pub(super) fn with_entries(self, file: &mut impl BufRead) -> io::Result<StoredGlossary> {
        let mut lines = file.lines();
        let mut entry = || {
            let line = lines.next().transpose()?;
            let terms = line.as_deref().and_then(|line| line.split_once('\t'));
            let (source, target) = terms.ok_or(Error::from(ErrorKind::InvalidData))?;
            Ok((source.to_owned(), target.to_owned()))
        };
        let mut dictionaries = Vec::new();
        for DictionaryInfo { pair, entry_count } in self.dictionaries {
            let entries = (0..entry_count).map(|_| entry());
            let entries = entries.collect::<io::Result<Entries>>()?;
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

impl StoredGlossary {
    /// Creates a glossary of an account.
    pub(super) fn new(name: String, account: Option<&str>, dictionaries: Vec<Dictionary>) -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            name,
            account: account.map(str::to_owned),
            creation_time: utc(since_1970.unwrap_or_default()),
            dictionaries,
        }
    }

    /// Returns the dictionary of a pair.
    pub(crate) fn of_pair(&self, pair: &Pair) -> Option<&Dictionary> {
        self.dictionaries.iter().find(|it| it.pair == *pair)
    }

    /// Returns the description, with an id.
    pub(super) fn info(&self, id: &str) -> GlossaryInfo {
        let dictionaries = self.dictionaries.iter();
        GlossaryInfo {
            id: id.to_owned(),
            name: self.name.clone(),
            account: self.account.clone(),
            creation_time: self.creation_time.clone(),
            dictionaries: dictionaries
                .map(|it| DictionaryInfo {
                    pair: it.pair.clone(),
                    entry_count: it.entries.len(),
                })
                .collect(),
        }
    }

    /// Returns the content of a file.
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
}
