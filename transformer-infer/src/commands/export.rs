//! `transformer-infer export`: writes a model in the format of another program.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use transformer_core::directory::{ModelDirectory, Tokenizers, undo_on_failure};
use transformer_core::export::{
    ExportError, to_bergamot, to_ctranslate2, to_marian, to_pegasus, to_safetensors,
};
use transformer_core::import::marian::{EarlyStopping, Generation};
use transformer_core::text::{LanguageLayout, LanguageTokens, Tokenizer};
use transformer_core::{Transformer, device};
use transformer_infer::search::{AtLimit, LengthLimit, LengthPenalty, Search, StopRule};
use transformer_infer::{Translator, TranslatorError, allocator};

use super::{CommandError, LineFlags, check_folder, next_lines, tell};

/// Maximum number of tokens of a translation, including EOS, if the model's own limit depends on the source: the limit
/// of OPUS-MT's models, which have 512 positions, one of them for the start token.
const MOST_TOKENS: usize = 511;

/// Number of lines from which ranges of activations are learned.
const CALIBRATION_LINES: usize = 1000;

/// Writes a model in the format of another program.
///
/// hf-marian writes config.json, generation_config.json, model.safetensors and the tokenizers: those of an imported
/// model unchanged, others as tokenizer.json. It refuses models that Marian's format cannot represent: with pre-norm,
/// final norms or learned positions. It prints a note for search settings without an equivalent.
///
/// hf-pegasus writes the same files for models with pre-norm and final norms, such as those of the preset tiny. The
/// vocabulary must be joint, with one matrix for source, target and output (`tying = "all"`).
///
/// ctranslate2 writes model.bin, config.json, the vocabularies and the tokenizers, of every model except those with a
/// separate width of heads or an attention window. CTranslate2 itself adds EOS to a source. To exclude special tokens
/// from its output, use `disable_unk=True, suppress_sequences=[["<pad>"], ["<s>"]]`.
///
/// bergamot writes the files of Firefox Translations, Bergamot and translateLocally: the model with 8-bit integers,
/// SentencePiece models, search settings, and the shortlist, if the model has one. It needs text to learn the ranges of
/// activations, `--calibrate FILE`, and the shape of the preset firefox-tiny in any size.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Directory of the model, or of the training run that trained it.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// Format to write.
    #[arg(long, value_name = "FORMAT")]
    format: Format,
    /// With --format bergamot: file with text in the source language, like the text to translate, one sentence per line;
    /// its first 1000 lines are translated.
    #[arg(long, value_name = "FILE", required_if_eq("format", "bergamot"))]
    calibrate: Option<PathBuf>,
    /// Folder to write: a new one, or an empty one.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Write into a folder that has files, and replace those of the same names.
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    lines: LineFlags,
}

/// A format of another program.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// `MarianMTModel` of Hugging Face's Transformers: post-norm.
    HfMarian,
    /// `PegasusForConditionalGeneration` of Hugging Face's Transformers: pre-norm.
    HfPegasus,
    /// The files of Firefox Translations, Bergamot and translateLocally.
    Bergamot,
    /// The model format of CTranslate2.
    #[value(name = "ctranslate2")]
    CTranslate2,
    /// All weights under their names here, the config and the tokenizers.
    Safetensors,
}

impl Export {
    pub(crate) fn run(&self, backend: Option<&str>) -> Result<(), CommandError> {
        if self.calibrate.is_some() && !matches!(self.format, Format::Bergamot) {
            return Err(CommandError::CalibrateFormat);
        }
        check_folder(&self.out, self.overwrite)?;
        let (_, device) = device::choose(backend)?;
        let load = |directory: &ModelDirectory| Ok::<_, TranslatorError>(directory.load(&device)?);
        let (directory, model) = ModelDirectory::open_with(&self.model, load)?;
        allocator::keep_freed_memory();
        undo_on_failure(&self.out, || self.write(&directory, &model))?;
        if let Some(languages) = directory.tokenizers().tgt().languages() {
            note([lost_languages(languages)]);
        }
        note(added_start(directory.tokenizers().tgt()));
        writeln!(io::stdout(), "{}", self.out.display()).map_err(CommandError::output)
    }

    fn write(&self, directory: &ModelDirectory, model: &Transformer) -> Result<(), CommandError> {
        let (config, tokenizers) = (directory.config(), directory.tokenizers());
        match self.format {
            Format::HfMarian => for_transformers(directory, |generation| {
                to_marian(&self.out, model, config, tokenizers, generation)
            })?,
            Format::HfPegasus => for_transformers(directory, |generation| {
                to_pegasus(&self.out, model, config, tokenizers, generation)
            })?,
            Format::Bergamot => {
                let path = self.calibrate.iter();
                let mut files = path.map(|path| self.lines.open(path));
                let (lines, failure) = match files.next().transpose()? {
                    Some(mut file) => next_lines(&mut file, CALIBRATION_LINES),
                    None => (Vec::new(), None),
                };
                failure.map_or(Ok(()), Err)?;
                let search = Translator::search_of(directory)?;
                let max_len_factor =
                    Some(search.max_len.factor).filter(|_| search.max_len.extra == 0);
                let generation = Generation {
                    max_len_factor,
                    ..generation(&search, tokenizers)
                };
                to_bergamot(&self.out, directory, model, &generation, &lines)?;
                note(limit_difference(search.at_limit, AtLimit::Compete));
            }
            Format::CTranslate2 => {
                to_ctranslate2(&self.out, model, config, tokenizers)?;
                let search = Translator::search_of(directory)?;
                note(limit_difference(search.at_limit, AtLimit::Compete));
            }
            Format::Safetensors => {
                to_safetensors(&self.out, model, config, tokenizers)?;
            }
        }
        Ok(())
    }
}

/// Returns a note about the tokens that a user of an exported multilingual model adds.
fn lost_languages(languages: &LanguageTokens) -> String {
    let example = languages.all().first().map(|it| it.token.as_str());
    let begin = "begin each translation with that of the target language";
    let tokens = match languages.layout() {
        LanguageLayout::SourceFirst => {
            format!("add that of the source language before each source, and {begin}")
        }
        LanguageLayout::SourceLast => {
            format!("add that of the source language after the </s> of each source, and {begin}")
        }
        LanguageLayout::TargetFirst => {
            "add that of the target language before each source".to_owned()
        }
    };
    format!(
        "the languages are not written, only their tokens, such as {}: {tokens}",
        example.unwrap_or("__de__")
    )
}

/// Returns a note about the token that a user of an exported BART adds.
fn added_start(tokenizer: &Tokenizer) -> Option<String> {
    let token = tokenizer.token(tokenizer.sentence_start()?)?;
    Some(format!(
        "sources and translations begin with {token}, BART's `<s>`: add it before each source, and begin each translation \
         with it"
    ))
}

/// Writes a model with generation settings, then prints the settings of its search that have no equivalent there.
fn for_transformers(
    directory: &ModelDirectory,
    write: impl FnOnce(&Generation) -> Result<(), ExportError>,
) -> Result<(), CommandError> {
    let search = Translator::search_of(directory)?;
    write(&generation(&search, directory.tokenizers()))?;
    note(differences(&search));
    Ok(())
}

fn note(differences: impl IntoIterator<Item = String>) {
    for difference in differences {
        tell(format_args!("note: {difference}"));
    }
}

/// Returns a note if the rule at the length limit is another one where the model is read back.
fn limit_difference(at_limit: AtLimit, read_back: AtLimit) -> Option<String> {
    (at_limit != read_back).then(|| {
        format!("the rule `{at_limit}` at the length limit is not written: it is read back as `{read_back}`")
    })
}

fn differences(search: &Search) -> Vec<String> {
    let mut all = Vec::new();
    let Search {
        at_limit,
        length_penalty,
        max_len,
        min_len,
        coverage_penalty,
        no_repeat_ngram,
        repetition_penalty,
        ..
    } = search;
    if let LengthPenalty::Gnmt { alpha } = length_penalty {
        all.push(format!(
            "the length penalty {length_penalty} is written as power:{alpha}, the only kind there"
        ));
    }
    if max_len.factor > 0.0 {
        all.push(format!(
            "the limit of {max_len} tokens is written as {MOST_TOKENS}: there it cannot depend on the source"
        ));
    }
    let read_back = match at_limit.forces_eos() {
        true => AtLimit::FreeEnd,
        false => AtLimit::Compete,
    };
    all.extend(limit_difference(*at_limit, read_back));
    if *min_len != LengthLimit::ZERO {
        all.push(format!(
            "the minimum length of {min_len} tokens is not written"
        ));
    }
    if *coverage_penalty > 0.0 {
        all.push("the coverage penalty is not written: there is no equivalent".to_owned());
    }
    if no_repeat_ngram.is_some() {
        all.push("the ban on repeated n-grams is not written: set no_repeat_ngram_size".to_owned());
    }
    if *repetition_penalty != 1.0 {
        all.push("the repetition penalty is not written: there it divides logits".to_owned());
    }
    all
}

/// Returns the generation settings of Hugging Face's Transformers that are closest to a search.
fn generation(search: &Search, tokenizers: &Tokenizers) -> Generation {
    let their_id = |id: &u32| match tokenizers.tgt().pieces() {
        Some(pieces) => pieces.rows().get(*id as usize).copied().flatten(),
        None => Some(*id),
    };
    let banned = search.banned.iter();
    let banned = banned.filter_map(|ids| ids.iter().map(their_id).collect());
    Generation {
        num_beams: Some(search.beam_size),
        // In Transformers a limit cannot depend on the source; the positions of the model limit it.
        max_len: Some(match search.max_len {
            LengthLimit { factor: 0.0, extra } => extra,
            LengthLimit { .. } => MOST_TOKENS,
        }),
        forces_end: search.at_limit.forces_eos(),
        length_penalty: match search.length_penalty {
            LengthPenalty::None => 0.0,
            LengthPenalty::Power { alpha } | LengthPenalty::Gnmt { alpha } => alpha,
        },
        early_stopping: match search.stop {
            StopRule::PresentLength => EarlyStopping::Heuristic,
            StopRule::BeamFinished => EarlyStopping::Early,
            StopRule::Never => EarlyStopping::Never,
        },
        banned: banned.collect(),
        renormalizes: search.renormalize,
        ..Generation::default()
    }
}
