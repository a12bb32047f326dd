//! The flags of `translate` for documents.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgGroup, Args};
use transformer_core::text::LanguageCode;
use transformer_infer::Translator;
use transformer_infer::document::format::{
    Column, Filled, FirstRow, Format, FormatOptions, Paragraphs, XmlRules,
};
use transformer_infer::document::{Protection, Split};

use crate::commands::{CommandError, at_least_one};

/// The flags for lines of text, which do not apply to documents.
const OF_LINES: [&str; 15] = [
    "text",
    "prefix",
    "prefixes",
    "scores",
    "json",
    "token_scores",
    "alignments",
    "alignment_layer",
    "alignment_head",
    "n_best",
    "mbr",
    "sample",
    "max_line_bytes",
    "max_src_len",
    "no_copy",
];

/// The language of documents of an unknown language.
const DEFAULT_LANGUAGE: &str = "en";

#[derive(Debug, Args)]
#[command(next_help_heading = "Documents")]
#[group(id = "document_flags")]
#[command(group(ArgGroup::new("document").multiple(true)))]
pub(super) struct DocumentFlags {
    /// Document to translate, `-` for standard input: its sentences are translated one by one, and everything else
    /// stays unchanged.
    #[arg(long = "in", value_name = "FILE", group = "document", conflicts_with_all = OF_LINES)]
    pub(super) input: Option<PathBuf>,
    /// File to write the translated document to [default: standard output].
    #[arg(long = "out", value_name = "FILE", requires = "document")]
    pub(super) output: Option<PathBuf>,
    /// True if --out may replace a file.
    #[arg(long, requires = "output")]
    pub(super) overwrite: bool,
    /// Format of the document [default: by the extension of --in].
    #[arg(long, value_name = "FORMAT", group = "document", conflicts_with_all = OF_LINES)]
    pub(super) format: Option<Format>,
    /// Unit of translation: sentences, lines, or none (whole paragraphs).
    #[arg(long, value_name = "UNIT", default_value_t, requires = "document")]
    pub(super) split: Split,
    /// Language of the document, for its rules of sentences, such as `en` [default: the model's, or en].
    #[arg(long, value_name = "CODE", requires = "document")]
    lang: Option<LanguageCode>,
    /// Maximum length of a part of a sentence that is translated at once, in source tokens; longer ones are split after
    /// a comma or a word, with a warning [default: 200, or the model's limit].
    #[arg(long, value_name = "N", value_parser = at_least_one(), requires = "document")]
    pub(super) max_segment: Option<usize>,
    /// Copy the matches of this regular expression, as placeholders and URLs are copied; repeat the flag for several.
    #[arg(long, value_name = "REGEX", requires = "document")]
    protect: Vec<String>,
    /// Copy numbers and their units.
    #[arg(long, requires = "document")]
    protect_numbers: bool,
    /// Translate placeholders, URLs and emoji codes like other words.
    #[arg(long, requires = "document")]
    no_placeholders: bool,
    #[command(flatten)]
    formats: FormatFlags,
}

/// The flags that apply to only one format.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
struct FormatFlags {
    /// Text: the lines are wrapped, so sentences run over line ends, and a blank line ends a paragraph.
    #[arg(long, requires = "document")]
    wrapped: bool,
    /// HTML: translate the values of `alt`, `aria-label`, `placeholder` and `title`, too.
    #[arg(long, requires = "document")]
    attributes: bool,
    /// TSV and CSV: columns to translate, by their names in the first row or by their numbers from 1, separated by
    /// commas.
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        requires = "document"
    )]
    columns: Vec<String>,
    /// TSV and CSV: the first row has no names, and is translated like the others.
    #[arg(long, requires = "document")]
    no_header: bool,
    /// CSV: the character between cells [default: a comma].
    #[arg(long, value_name = "CHAR", requires = "document")]
    separator: Option<char>,
    /// JSON: translate only strings below these keys, separated by commas; `*` stands for any characters.
    #[arg(
        long,
        value_name = "KEYS",
        value_delimiter = ',',
        requires = "document"
    )]
    keys: Vec<String>,
    /// JSON: do not translate strings below these keys [default: @*].
    #[arg(
        long,
        value_name = "KEYS",
        value_delimiter = ',',
        requires = "document"
    )]
    skip_keys: Option<Vec<String>>,
    /// XML: the table of rules of its format, as JSON: the elements with text, and the meaning of those inside it.
    #[arg(long, value_name = "FILE", requires = "document")]
    rules: Option<PathBuf>,
    /// PO: also translate messages that have a translation.
    #[arg(long, requires = "document")]
    retranslate: bool,
    /// PO: mark translations as `fuzzy`, so that programs ignore them until a person has reviewed them.
    #[arg(long, requires = "document")]
    fuzzy: bool,
    /// Subtitles: pause between two cues that ends a passage, in seconds; sentences do not continue across it [default:
    /// 3].
    #[arg(long, value_name = "SECONDS", requires = "document")]
    pause: Option<u64>,
}

impl DocumentFlags {
    pub(super) fn are_given(&self) -> bool {
        self.input.is_some() || self.format.is_some()
    }

    /// Returns the language for the rules of sentences: that of the flag, or of the model.
    pub(super) fn language<'a>(&'a self, translator: &'a Translator) -> &'a str {
        let of_model = || {
            translator
                .languages()
                .src
                .as_ref()
                .map(LanguageCode::as_str)
        };
        let of_flag = self.lang.as_ref().map(LanguageCode::as_str);
        of_flag.or_else(of_model).unwrap_or(DEFAULT_LANGUAGE)
    }

    /// Returns the first flag that is given and does not apply to the format.
    pub(super) fn flag_of_another_format(&self, format: Format) -> Option<&'static str> {
        let flags = &self.formats;
        let is_table = matches!(format, Format::Tsv | Format::Csv);
        let is_subtitles = matches!(format, Format::Subtitles(_));
        let wrong = [
            ("--wrapped", flags.wrapped && format != Format::Text),
            (
                "--attributes",
                flags.attributes && !matches!(format, Format::Html | Format::Xhtml),
            ),
            ("--columns", !flags.columns.is_empty() && !is_table),
            ("--no-header", flags.no_header && !is_table),
            (
                "--separator",
                flags.separator.is_some() && format != Format::Csv,
            ),
            ("--keys", !flags.keys.is_empty() && format != Format::Json),
            (
                "--skip-keys",
                flags.skip_keys.is_some() && format != Format::Json,
            ),
            ("--rules", flags.rules.is_some() && format != Format::Xml),
            ("--retranslate", flags.retranslate && format != Format::Po),
            ("--fuzzy", flags.fuzzy && format != Format::Po),
            ("--pause", flags.pause.is_some() && !is_subtitles),
        ];
        let first = wrong.into_iter().find(|(_, is_wrong)| *is_wrong);
        first.map(|(flag, _)| flag)
    }

    pub(super) fn format_options(
        &self,
        translator: &Translator,
    ) -> Result<FormatOptions, CommandError> {
        let flags = &self.formats;
        let mut options = FormatOptions::default();
        let language = translator.languages().tgt.as_ref();
        options.tgt_lang = language.map(|it| it.as_str().to_owned());
        if flags.wrapped {
            options.paragraphs = Paragraphs::BlankLines;
        }
        options.html.attributes = flags.attributes;
        options.table.columns = flags
            .columns
            .iter()
            .map(|it| Column::from(it.as_str()))
            .collect();
        if flags.no_header {
            options.table.first_row = FirstRow::Data;
        }
        options.csv_separator = flags.separator.unwrap_or(options.csv_separator);
        options.json.include = flags.keys.clone();
        if let Some(keys) = &flags.skip_keys {
            options.json.exclude = keys.clone();
        }
        if flags.retranslate {
            options.po.filled = Filled::Overwrite;
        }
        options.po.fuzzy = flags.fuzzy;
        if let Some(seconds) = flags.pause {
            options.subtitles.pause = Duration::from_secs(seconds);
        }
        if let Some(path) = &flags.rules {
            options.xml = Some(read_rules(path)?);
        }
        Ok(options)
    }

    pub(super) fn protection(&self) -> Result<Protection, CommandError> {
        let mut protection = match self.no_placeholders {
            true => Protection::default(),
            false => Protection::placeholders(),
        };
        if self.protect_numbers {
            protection = protection.with_numbers();
        }
        for pattern in &self.protect {
            protection = protection.with_pattern(pattern)?;
        }
        Ok(protection)
    }
}

fn read_rules(path: &Path) -> Result<XmlRules, CommandError> {
    let text = fs::read_to_string(path).map_err(|source| CommandError::OpenFile {
        path: path.to_owned(),
        source,
    })?;
    serde_json::from_str(&text).map_err(|source| CommandError::Rules {
        path: path.to_owned(),
        source,
    })
}
