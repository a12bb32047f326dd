//! [`Entries`]: the terms of a dictionary, in the formats of DeepL's interface.

use csv::{ReaderBuilder, StringRecord};

use super::Pair;
use crate::http::ApiError;

/// Terms of the source, each with the term of the translation.
pub(crate) type Entries = Vec<(String, String)>;

/// Reads the entries of a dictionary in `tsv` or `csv`. A row of CSV may name the languages in two more columns; rows of
/// other languages are left out.
///
/// # Errors
///
/// Returns an error that counts lines from 1 if the format is unknown, a line has too few or too many columns, or there
/// are no entries.
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

/// Creates the error of entries that are not accepted, for this reason.
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
