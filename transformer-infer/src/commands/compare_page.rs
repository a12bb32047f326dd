//! The page of `compare --html`: scores, tables, and the sentences to read first, in one HTML file without scripts.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;
use transformer_core::text::{escape_xml, is_dense};
use transformer_infer::attention::COLORS;
use transformer_infer::document::{Fault, Faults, Protection};
use transformer_infer::metrics::{CorpusCounts, Metric};

use super::attention::Picture;
use super::buckets::BucketTable;
use super::{CommandError, Row};

/// The name of the generator in the template, by which pages that may be replaced are recognized.
const GENERATOR: &str = "transformer-infer compare";

const TEMPLATE: &str = include_str!("compare_page.html");

/// The faults that are counted; without the target language, scripts are not checked.
const FAULTS: [Fault; 5] = [
    Fault::Numbers,
    Fault::Copied,
    Fault::Empty,
    Fault::Repetition,
    Fault::Length,
];

/// The flags of the page.
#[derive(Debug, Args)]
pub(super) struct PageFlags {
    /// Write an HTML page as well, also about one translation: scores, tables, and sentences to read first.
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    /// File with the sources, one per line: the page shows them, and counts missing numbers, placeholders and others.
    #[arg(long, value_name = "FILE", requires = "html")]
    pub(super) src: Option<PathBuf>,
    /// Number of sentences in each list of the page.
    #[arg(long, value_name = "N", requires = "html", default_value_t = 20)]
    examples: usize,
}

impl PageFlags {
    pub(super) fn picture(&self) -> Result<Option<Picture>, CommandError> {
        let picture = self
            .html
            .as_ref()
            .map(|path| Picture::page(path, GENERATOR));
        Ok(picture.transpose()?)
    }
}

pub(super) struct TextTable {
    pub(super) title: String,
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

pub(super) struct ComparisonPage<'a> {
    pub(super) flags: &'a PageFlags,
    pub(super) systems: Vec<String>,
    /// For each sentence, its translations, its references, and its source, if there are sources.
    pub(super) rows: &'a [Row],
    pub(super) scores: Vec<TextTable>,
    pub(super) tables: &'a [BucketTable],
    /// The metric by which sentences are ranked, and the counts of each system; higher scores are better.
    pub(super) metric: (&'a dyn Metric, &'a [CorpusCounts]),
    pub(super) digits: usize,
}

impl ComparisonPage<'_> {
    /// Returns the page. All text from files, and all names, are escaped.
    pub(super) fn render(&self) -> String {
        let title = escape_xml(&self.systems.join(" and "));
        let n = self.rows.len();
        let sentences = if n == 1 { "sentence" } else { "sentences" };
        let mut sections = vec![(
            "scores".to_owned(),
            "Scores".to_owned(),
            self.scores.iter().map(text_table).collect(),
        )];
        if !self.tables.is_empty() {
            let tables = self.tables.iter().map(|table| self.bucket_table(table));
            sections.push((
                "buckets".to_owned(),
                "By length and frequency".to_owned(),
                tables.collect(),
            ));
        }
        for system in 1..self.systems.len() {
            sections.push(self.differences(system, Side::Better));
            sections.push(self.differences(system, Side::Worse));
        }
        sections.extend((0..self.systems.len()).map(|system| self.worst(system)));
        if self.flags.src.is_some() {
            sections.extend(self.faulty());
        }
        let links = sections
            .iter()
            .map(|(id, name, _)| format!("<a href=\"#{id}\">{name}</a>\n"));
        let links: String = links.collect();
        let bodies = sections.iter().map(|(id, name, body)| {
            format!("<section id=\"{id}\">\n<h2>{name}</h2>\n{body}</section>\n")
        });
        let bodies: String = bodies.collect();
        let content = format!(
            "<header>\n<h1>{title}</h1>\n<p>{n} {sentences}</p>\n<nav>\n{links}</nav>\n</header>\n<main>\n{bodies}</main>\n"
        );
        // The user's text is inserted last, so that nothing in it is replaced.
        let page = TEMPLATE.replace("{colors}", COLORS);
        let parts = page.split_once("{title}").and_then(|(head, rest)| {
            let (middle, end) = rest.split_once("{content}")?;
            Some([head, &title, middle, &content, end].concat())
        });
        parts.expect("the template has a title and content")
    }

    fn score(&self, system: usize, row: usize) -> f64 {
        let (metric, counts) = self.metric;
        metric.score_of(counts[system].row(row))
    }

    fn name(&self, system: usize) -> String {
        escape_xml(&self.systems[system])
    }

    /// Lists the sentences with the largest differences from the baseline.
    fn differences(&self, system: usize, side: Side) -> Section {
        let (word, sign) = match side {
            Side::Better => ("better", 1.0),
            Side::Worse => ("worse", -1.0),
        };
        let gain = |row: usize| self.score(system, row) - self.score(0, row);
        let rows = (0..self.rows.len()).map(|row| (row, sign * gain(row)));
        let mut rows: Vec<(usize, f64)> = rows.filter(|(_, gain)| *gain > 0.0).collect();
        rows.sort_by(|a, b| b.1.total_cmp(&a.1));
        let (name, metric) = (self.name(system), self.metric.0.name());
        let digits = self.digits;
        let articles = rows.iter().take(self.flags.examples).map(|&(row, gain)| {
            let note = format!("{metric} {:+.digits$}", sign * gain);
            self.article(row, &[0, system], &note)
        });
        let (n, baseline) = (rows.len(), self.name(0));
        let articles: String = articles.collect();
        let body = format!(
            "<p>{n} with a higher {metric} for {}; the largest differences first. Words that only one translation has \
             are marked: <mark class=\"right\">in the reference</mark>, <mark class=\"wrong\">not in it</mark>.</p>\n\
             {articles}",
            match side {
                Side::Better => &name,
                Side::Worse => &baseline,
            }
        );
        (
            format!("{word}-{system}"),
            format!("Where {name} is {word}"),
            body,
        )
    }

    fn worst(&self, system: usize) -> Section {
        let rows = (0..self.rows.len()).map(|row| (row, self.score(system, row)));
        let mut rows: Vec<(usize, f64)> = rows.collect();
        rows.sort_by(|a, b| a.1.total_cmp(&b.1));
        let rows = rows.iter().take(self.flags.examples);
        let articles = rows.map(|&(row, _)| self.article(row, &[system], ""));
        let articles: String = articles.collect();
        let (name, metric) = (self.name(system), self.metric.0.name());
        let body = format!(
            "<p>The lowest {metric} first. <mark class=\"wrong\">Words</mark> that no reference has are marked.</p>\n\
             {articles}"
        );
        (
            format!("worst-{system}"),
            format!("Lowest scores of {name}"),
            body,
        )
    }

    fn faulty(&self) -> Vec<Section> {
        let protection = Protection::placeholders().with_check(None);
        let n_systems = self.systems.len();
        // The first reference is checked as well: its faults show how often the check is wrong.
        let found = self.rows.iter().map(|row| {
            let source = row.last().map_or("", String::as_str);
            let texts = row[..=n_systems].iter();
            texts
                .map(|text| protection.faults(source, text))
                .collect::<Vec<Faults>>()
        });
        let found: Vec<Vec<Faults>> = found.collect();
        let count = |column: usize, fault: Fault| {
            found
                .iter()
                .filter(|row| row[column].contains(fault))
                .count()
        };
        let columns = 0..=n_systems;
        let row = |fault: Fault| {
            let counts = columns
                .clone()
                .map(|column| count(column, fault).to_string());
            [fault.to_string()].into_iter().chain(counts).collect()
        };
        let names = self.systems.iter().map(String::as_str);
        let head = ["fault"].into_iter().chain(names).chain(["reference"]);
        let table = TextTable {
            title: String::new(),
            head: head.map(str::to_owned).collect(),
            rows: FAULTS.into_iter().map(row).collect(),
        };
        let body = format!(
            "<p>Sentences with a translation that lacks numbers or copied text (placeholders, URLs, e-mail addresses) of \
             the source, or is doubtful in other ways. A number written as a word counts as missing; the column of the \
             reference shows how often.</p>\n{}",
            text_table(&table)
        );
        let mut sections = vec![("faults".to_owned(), "Faults".to_owned(), body)];
        for system in 0..n_systems {
            let rows = found.iter().enumerate();
            let mut rows: Vec<(usize, Faults)> = rows.map(|(row, it)| (row, it[system])).collect();
            rows.retain(|(_, faults)| !faults.is_empty());
            let articles = rows
                .iter()
                .take(self.flags.examples)
                .map(|(row, faults)| self.article(*row, &[system], &faults.to_string()));
            let articles: String = articles.collect();
            sections.push((
                format!("faults-{system}"),
                format!("Faults of {}", self.name(system)),
                format!("<p>{} sentences.</p>\n{articles}", rows.len()),
            ));
        }
        sections
    }

    /// Returns a sentence with its source, its references and the translations of these systems.
    fn article(&self, row: usize, systems: &[usize], note: &str) -> String {
        let n_systems = self.systems.len();
        let (hypotheses, rest) = self.rows[row].split_at(n_systems);
        let (source, references) = match rest.split_last() {
            Some((source, references)) if self.flags.src.is_some() => (Some(source), references),
            _ => (None, rest),
        };
        let texts: Vec<&str> = references.iter().map(String::as_str).collect();
        let mut parts = String::new();
        let mut part = |name: &str, text: &str| {
            parts += &format!("<div><dt>{name}</dt><dd dir=\"auto\">{text}</dd></div>\n");
        };
        if let Some(source) = source {
            part("source", &escape_xml(source));
        }
        for reference in references {
            part("reference", &escape_xml(reference));
        }
        let (metric, digits) = (self.metric.0.name(), self.digits);
        for &system in systems {
            let others = systems.iter().find(|it| **it != system);
            let other = others.map(|other| hypotheses[*other].as_str());
            let score = self.score(system, row);
            let name = format!("{}, {metric} {score:.digits$}", self.name(system));
            part(&name, &marked(&hypotheses[system], &texts, other));
        }
        let is_one = systems.len() == 1 || source.is_none() || references.len() != 1;
        let class = if is_one { "one" } else { "two" };
        format!(
            "<article>\n<h3><span class=\"number\">line {}</span> {note}</h3>\n<dl class=\"{class}\">\n{parts}</dl>\n\
             </article>\n",
            row + 1
        )
    }

    /// Returns a table with a bar beside each score.
    fn bucket_table(&self, table: &BucketTable) -> String {
        let digits = self.digits;
        let systems = self.systems.iter().map(String::as_str);
        let head: String = ["", "n"].into_iter().chain(systems).map(heading).collect();
        let rows = table.rows.iter().map(|row| {
            let scores = row.scores.iter().map(|score| {
                let width = score.clamp(0.0, 100.0);
                format!(
                    "<td class=\"bar\">{score:.digits$}<i style=\"width:{width:.0}px\"></i></td>"
                )
            });
            let (bucket, n) = (escape_xml(&row.bucket), row.n);
            let scores: String = scores.collect();
            format!("<tr><th scope=\"row\">{bucket}</th><td>{n}</td>{scores}</tr>\n")
        });
        html_table(&table.title, &head, &rows.collect::<String>())
    }
}

/// The identifier of a section, its heading and its contents, as HTML.
type Section = (String, String, String);

#[derive(Clone, Copy)]
enum Side {
    Better,
    Worse,
}

fn heading(name: &str) -> String {
    format!("<th scope=\"col\" class=\"file\">{}</th>", escape_xml(name))
}

fn text_table(table: &TextTable) -> String {
    let head: String = table.head.iter().map(|it| heading(it)).collect();
    let rows = table.rows.iter().map(|row| {
        let cells = row
            .iter()
            .skip(1)
            .map(|cell| format!("<td>{}</td>", escape_xml(cell)));
        let first = row.first().map(|name| escape_xml(name)).unwrap_or_default();
        let cells: String = cells.collect();
        format!("<tr><th scope=\"row\" class=\"file\">{first}</th>{cells}</tr>\n")
    });
    html_table(&table.title, &head, &rows.collect::<String>())
}

fn html_table(title: &str, head: &str, rows: &str) -> String {
    let title = match title {
        "" => String::new(),
        title => format!("<p>{}</p>\n", escape_xml(title)),
    };
    format!(
        "{title}<div class=\"wide\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

/// Returns a translation as HTML. Words that the references lack are marked; given another translation, the words that
/// it lacks, by whether the references have them.
fn marked(text: &str, references: &[&str], other: Option<&str>) -> String {
    let words = split(text);
    let in_references = matches(&words, references);
    let in_other = match other {
        Some(other) => matches(&words, &[other]),
        None => in_references.clone(),
    };
    let words = words.iter().zip(in_references).zip(in_other);
    let marked = words.map(|((word, is_right), is_shared)| {
        let escaped = escape_xml(word);
        match (is_shared || word.trim().is_empty(), is_right) {
            (true, _) => escaped,
            (false, true) => format!("<mark class=\"right\">{escaped}</mark>"),
            (false, false) => format!("<mark class=\"wrong\">{escaped}</mark>"),
        }
    });
    marked.collect()
}

/// Returns for each word whether a text has it; a word that is repeated, at most as often as in one text, as in BLEU.
fn matches<'a>(words: &[&'a str], texts: &[&'a str]) -> Vec<bool> {
    let mut left: HashMap<&'a str, usize> = HashMap::new();
    for text in texts {
        let mut counts: HashMap<&'a str, usize> = HashMap::new();
        for word in split(text) {
            *counts.entry(word).or_default() += 1;
        }
        for (word, n) in counts {
            let most = left.entry(word).or_default();
            *most = n.max(*most);
        }
    }
    let take = |word: &&'a str| match left.get_mut(word) {
        Some(n) if *n > 0 => {
            *n -= 1;
            true
        }
        _ => false,
    };
    words.iter().map(take).collect()
}

/// Splits a text into words, spaces and punctuation; the parts are the whole text. Characters of scripts without spaces
/// are words.
fn split(text: &str) -> Vec<&str> {
    let is_alone = |c: char| {
        let is_punctuation = matches!(c, '\u{A1}'..='\u{BF}' | '\u{2010}'..='\u{205E}');
        c.is_whitespace() || c.is_ascii_punctuation() || is_punctuation || is_dense(c)
    };
    let mut parts = Vec::new();
    let (mut start, mut was_alone) = (0, false);
    for (at, c) in text.char_indices() {
        if at > start && (was_alone || is_alone(c)) {
            parts.push(&text[start..at]);
            start = at;
        }
        was_alone = is_alone(c);
    }
    parts.extend((start < text.len()).then(|| &text[start..]));
    parts
}
