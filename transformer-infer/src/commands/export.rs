//! `transformer-infer export`: writes a model in the form that another program reads.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use transformer_core::device;
use transformer_core::directory::{ModelDirectory, Tokenizers};
use transformer_core::export::{to_ctranslate2, to_marian, to_safetensors};
use transformer_core::import::marian::{EarlyStopping, Generation};
use transformer_infer::search::{AtLimit, LengthLimit, LengthPenalty, Search, StopRule};
use transformer_infer::{Translator, TranslatorError};

use super::{CommandError, check_folder};

/// Most tokens of a translation, its end included, where the model's own limit depends on its source: that of
/// OPUS-MT's models, whose 512 places have the start among them.
const MOST_TOKENS: usize = 511;

/// Writes a model in a form that other programs read.
///
/// With hf-marian the folder gets config.json, generation_config.json, model.safetensors and the tokenizers: those of an
/// imported model as they came in, and others as tokenizer.json. What Marian's models cannot have is refused:
/// pre-norm, final norms, interleaved or learned positions. What cannot be said of the search is noted.
///
/// With ctranslate2 it gets model.bin, config.json, the vocabularies and the tokenizers, of a model of any shape but
/// for heads of their own widths and windows. CTranslate2 adds the end of a source itself. Here special tokens are
/// never written; there that is `disable_unk=True, suppress_sequences=[["<pad>"], ["<s>"]]`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Directory of the model, or of the training run that made it.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// Who is to read it.
    #[arg(long, value_name = "FORMAT")]
    format: Format,
    /// Folder to write: a new one, or an empty one.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Write into a folder that has files, and replace those of the same names.
    #[arg(long)]
    overwrite: bool,
}

/// Names a form that other programs read.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// `MarianMTModel` of Hugging Face's Transformers.
    HfMarian,
    /// A model of CTranslate2.
    #[value(name = "ctranslate2")]
    CTranslate2,
    /// All weights by our names, the config and the tokenizers.
    Safetensors,
}

impl Export {
    /// Reads the model, and writes the folder.
    pub(crate) fn run(&self, backend: Option<&str>) -> Result<(), CommandError> {
        check_folder(&self.out, self.overwrite)?;
        let (_, device) = device::choose(backend)?;
        let load = |directory: &ModelDirectory| Ok::<_, TranslatorError>(directory.load(&device)?);
        let (directory, model) = ModelDirectory::open_with(&self.model, load)?;
        let tokenizers = directory.tokenizers();
        match self.format {
            Format::HfMarian => {
                let search = Translator::search_of(&directory)?;
                let generation = generation(&search, tokenizers);
                to_marian(
                    &self.out,
                    &model,
                    directory.config(),
                    tokenizers,
                    &generation,
                )?;
                for difference in differences(&search) {
                    // Whoever cannot be told has the folder all the same.
                    let _ = writeln!(io::stderr(), "note: {difference}");
                }
            }
            Format::CTranslate2 => {
                to_ctranslate2(&self.out, &model, directory.config(), tokenizers)?;
            }
            Format::Safetensors => {
                to_safetensors(&self.out, &model, directory.config(), tokenizers)?;
            }
        }
        writeln!(io::stdout(), "{}", self.out.display()).map_err(CommandError::Write)
    }
}

/// Says where Hugging Face's Transformers will search otherwise than `search`, because they cannot be told of it.
fn differences(search: &Search) -> Vec<String> {
    let mut all = Vec::new();
    let Search {
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
            "the length penalty {length_penalty} goes out as power:{alpha}, the only kind there"
        ));
    }
    if max_len.factor > 0.0 {
        all.push(format!(
            "the limit of {max_len} tokens goes out as {MOST_TOKENS}: there it does not depend on the source"
        ));
    }
    if *min_len != LengthLimit::ZERO {
        all.push(format!(
            "the least length of {min_len} tokens does not go out"
        ));
    }
    if *coverage_penalty > 0.0 {
        all.push("the coverage penalty does not go out: there is none".to_owned());
    }
    if no_repeat_ngram.is_some() {
        all.push(
            "the ban on repeated n-grams does not go out: set no_repeat_ngram_size".to_owned(),
        );
    }
    if *repetition_penalty != 1.0 {
        all.push("the repetition penalty does not go out: there it divides logits".to_owned());
    }
    all
}

/// Returns what Hugging Face's Transformers can be told of a search.
fn generation(search: &Search, tokenizers: &Tokenizers) -> Generation {
    let theirs = |id: &u32| match tokenizers.tgt().pieces() {
        Some(pieces) => pieces.rows().get(*id as usize).copied().flatten(),
        None => Some(*id),
    };
    let banned = search.banned.iter();
    let banned = banned.filter_map(|ids| ids.iter().map(theirs).collect());
    Generation {
        num_beams: Some(search.beam_size),
        // A limit that grows with the source cannot be said there: the longest that their positions allow.
        max_len: Some(match search.max_len {
            LengthLimit { factor: 0.0, extra } => extra,
            LengthLimit { .. } => MOST_TOKENS,
        }),
        forces_end: search.at_limit != AtLimit::Cut,
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
    }
}
