//! Flags of several commands: [`SpeedFlags`], number format and threads of translation on CPUs; [`LanguageFlags`], the
//! languages between which a multilingual model translates; [`TermFlags`], the glossary, with the report of its terms; and
//! [`open`], which loads the models that flags name.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use transformer_core::text::printable;
use transformer_core::{ComputePrecision, device};
use transformer_infer::{
    BatchLimits, Glossary, OpenOptions, Translation, Translator, TranslatorError, allocator,
};

use super::{CommandError, tell};

/// The flags of commands that translate.
#[derive(Debug, Args)]
pub(crate) struct SpeedFlags {
    /// Number format of matrix products on CPUs: f32, or int8, which is 2 to 4 times as fast and loses a little quality
    /// [default: int8 for a model that is stored in it, otherwise f32].
    #[arg(long, value_name = "FORMAT")]
    precision: Option<ComputePrecision>,
    /// Maximum number of threads that translate at the same time, on CPUs; the translations are the same [default: one
    /// per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    threads: Option<u16>,
    /// Use of the model's shortlist on CPUs, if it has one: on, or off to consider all target tokens at each step.
    #[arg(long, value_name = "on|off", default_value = "on", value_parser = ["on", "off"])]
    shortlist: String,
}

impl SpeedFlags {
    pub(crate) fn options(&self) -> OpenOptions {
        OpenOptions {
            precision: self.precision,
            n_threads: self.threads.and_then(|n| NonZeroUsize::new(n.into())),
            without_shortlist: self.shortlist == "off",
            ..OpenOptions::default()
        }
    }
}

/// The flags of commands that use a multilingual model.
#[derive(Debug, Args)]
pub(crate) struct LanguageFlags {
    /// Language of the source, for a multilingual model such as NLLB-200: a code such as de or zh-Hant, or the model's
    /// own, such as deu_Latn [default: the one given to `import`].
    #[arg(long, value_name = "CODE")]
    src_lang: Option<String>,
    /// Language of the target, likewise.
    #[arg(long, value_name = "CODE")]
    tgt_lang: Option<String>,
}

impl LanguageFlags {
    pub(crate) fn apply(&self, translator: Translator) -> Result<Translator, CommandError> {
        let (src, tgt) = (self.src_lang.as_deref(), self.tgt_lang.as_deref());
        let translator = translator.with_direction(src, tgt);
        Ok(translator.map_err(TranslatorError::from)?)
    }
}

pub(crate) fn at_least_one() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}

/// Parses one of these names, and returns its value.
pub(crate) fn one_of<T: Clone + Send + Sync>(
    values: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(values.iter().map(|(name, _)| *name));
    names.map(|given| {
        let found = values.iter().find(|(name, _)| *name == given);
        found.expect("it is one of the names").1.clone()
    })
}

/// Returns the number formats of the matrix products, such as `, f32`, or `, f32 + int8` for an ensemble.
fn precisions(translator: &Translator) -> String {
    let mut precisions = translator.precisions();
    precisions.dedup();
    let names: Vec<&str> = precisions.iter().map(|it| it.name()).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(", {}", names.join(" + ")),
    }
}

/// Loads a model or an ensemble on the backend; if `reports`, prints both to standard error.
pub(crate) fn open(
    models: &[PathBuf],
    backend: Option<&str>,
    limits: BatchLimits,
    options: &OpenOptions,
    reports: bool,
) -> Result<Translator, CommandError> {
    let (backend, device) = device::choose(backend)?;
    let translator = Translator::open_ensemble(models, &device, options)?.with_limits(limits);
    allocator::keep_freed_memory();
    if reports {
        let config = translator.config();
        let (encoder, decoder) = (config.n_encoder_layers, config.n_decoder_layers);
        let format = match options.as_module {
            true => String::new(),
            false => precisions(&translator),
        };
        let models = models.iter().map(|path| path.display().to_string());
        let models = models.collect::<Vec<_>>().join(" + ");
        tell(format_args!(
            "backend {backend}, model {models} ({encoder}+{decoder} layers, d_model {}, vocabulary {}){format}",
            config.d_model, config.tgt_vocab_size
        ));
    }
    Ok(translator)
}

const MAX_LISTED: usize = 10;

/// The flag of commands that translate with a glossary.
#[derive(Debug, Args)]
pub(crate) struct TermFlags {
    /// File with a glossary: lines of a source term, a tab, and its translation, which must occur in the translation
    /// of every line that has the term. A line that begins with # is a comment.
    #[arg(long, value_name = "FILE")]
    terms: Option<PathBuf>,
}

impl TermFlags {
    pub(crate) fn open(&self) -> Result<Option<Glossary>, CommandError> {
        Ok(self.terms.as_ref().map(Glossary::read).transpose()?)
    }
}

pub(crate) fn terms_in<'a>(glossary: Option<&'a Glossary>, line: &str) -> Vec<&'a str> {
    let terms = glossary.map(|glossary| glossary.terms_in(line));
    let terms = terms.unwrap_or_default().into_iter();
    terms.map(|term| term.target).collect()
}

#[derive(Debug, Default)]
pub(crate) struct TermReport {
    n_terms: usize,
    n_unmet: usize,
    /// The first unmet terms, with the numbers of their lines, from 1.
    listed: Vec<(usize, String)>,
}

impl TermReport {
    /// Counts the terms of the line with this number, from 1. `terms` are those that its translation must contain.
    pub(crate) fn add(&mut self, line: usize, terms: &[&str], translation: &Translation) {
        self.n_terms += terms.len();
        self.n_unmet += translation.unmet_terms.len();
        for index in &translation.unmet_terms {
            if self.listed.len() < MAX_LISTED {
                self.listed.push((line, terms[*index].to_owned()));
            }
        }
    }

    /// Prints the number of terms that were met, and the first ones that were not, to standard error.
    pub(crate) fn print(&self) {
        for (line, term) in &self.listed {
            let term = printable(term);
            tell(format_args!(
                "warning: line {line}: the translation lacks the term `{term}`"
            ));
        }
        let n_more = self.n_unmet - self.listed.len();
        if n_more > 0 {
            tell(format_args!("warning: {n_more} more terms are missing"));
        }
        print_terms(self.n_terms, self.n_unmet);
    }
}

/// Prints the number of the text's terms, and of those that were met, to standard error.
pub(crate) fn print_terms(n_terms: usize, n_unmet: usize) {
    let n_met = n_terms - n_unmet;
    match n_terms {
        0 => tell("no term of the glossary occurs in the text"),
        _ => tell(format_args!("terms: {n_met} of {n_terms} were met")),
    }
}
