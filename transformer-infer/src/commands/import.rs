//! `transformer-infer import`: converts a model of another program to a model directory.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use transformer_core::device;
use transformer_core::directory::Languages;
use transformer_core::import::Marian;
use transformer_core::import::marian::Reference;
use transformer_core::text::LanguageCode;
use transformer_infer::{TranslatorError, write_marian};

use super::{CommandError, check_folder, languages_of};

/// Converts a model of Hugging Face's Transformers (Marian, such as those of OPUS-MT, M2M-100, NLLB-200, SMALL-100,
/// mBART-50, BART or Pegasus), or a model of Firefox Translations, CTranslate2 or Argos Translate, to a model directory.
///
/// A folder of Transformers needs config.json, vocab.json, source.spm, target.spm and model.safetensors or
/// pytorch_model.bin; generation_config.json and tokenizer_config.json are read if they exist. A multilingual model has
/// sentencepiece.bpe.model for both sides, and a file with the list of its languages; BART has vocab.json and merges.txt,
/// or tokenizer.json, and Pegasus spiece.model. A folder of Firefox Translations, Bergamot or translateLocally needs
/// model.*.bin and vocab.*.spm, or srcvocab.*.spm and trgvocab.*.spm; config.*.yml and metadata.json are read if they
/// exist. A folder of CTranslate2 needs model.bin, its vocabularies, and a SentencePiece model in it or as --spm; packages
/// of Argos Translate have all of them. Beam size and length limits of the model become the defaults of `translate` and
/// `evaluate`.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// Folder of the model, its model.*.bin in Marian's binary format, or an .argosmodel.
    #[arg(long, value_name = "PATH")]
    from: PathBuf,
    /// Model directory to write: a new folder, or an empty one.
    #[arg(long, value_name = "DIR", required_unless_present = "check")]
    out: Option<PathBuf>,
    /// Write into a folder that has files, and replace a model in it.
    #[arg(long, requires = "out")]
    overwrite: bool,
    /// Language of the source, such as en or pt-BR [default: that of tokenizer_config.json, or of a folder with a name
    /// like opus-mt-en-de; or that of metadata.json, or of a name like model.ende.bin]. Of a multilingual model it is
    /// the language that `translate` assumes without --src-lang.
    #[arg(long, value_name = "CODE", requires = "out")]
    src_lang: Option<LanguageCode>,
    /// Language of the target [default: likewise].
    #[arg(long, value_name = "CODE", requires = "out")]
    tgt_lang: Option<LanguageCode>,
    /// SentencePiece model for a folder of CTranslate2 without one; twice for source and target.
    #[arg(long, value_name = "FILE")]
    spm: Vec<PathBuf>,
    /// File of logits that benchmarks/marian_reference.py wrote: print the difference of this program's logits.
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
}

impl Import {
    pub(crate) fn run(&self, backend: Option<&str>) -> Result<(), CommandError> {
        if let Some(out) = &self.out {
            check_folder(out, self.overwrite)?;
        }
        let (_, device) = device::choose(backend)?;
        let marian = Marian::read_with_pieces(&self.from, &self.spm, &device)?;
        let mut output = io::stdout().lock();
        if let Some(path) = &self.check {
            let reference = Reference::read(path)?;
            let found = reference.compare(&marian.model, &marian.tokenizers, &device)?;
            writeln!(
                output,
                "largest difference of a logit: {:.2e} (the largest logit is {:.1})\n\
                 same next token: {} of {}",
                found.largest, found.largest_logit, found.n_same_best, found.n_tokens
            )
            .map_err(CommandError::output)?;
        }
        if let Some(out) = &self.out {
            let given = Languages {
                src: self.src_lang.clone(),
                tgt: self.tgt_lang.clone(),
            };
            let table = marian.tokenizers.tgt().languages();
            for code in [&given.src, &given.tgt].into_iter().flatten() {
                let known = table.map(|table| table.find(code.as_str())).transpose();
                known.map_err(TranslatorError::from)?;
            }
            let languages = given.or(&marian.languages);
            write_marian(&marian, &languages, &self.from, out)?;
            writeln!(output, "{}", summary(&marian, &languages, out))
                .map_err(CommandError::output)?;
        }
        Ok(())
    }
}

fn summary(marian: &Marian, languages: &Languages, out: &Path) -> String {
    let config = &marian.config;
    let files = match marian.files.is_empty() {
        true => String::new(),
        false => format!("read {}\n", marian.files.join(", ")),
    };
    let flags = match marian.tokenizers.tgt().languages() {
        Some(_) => " --src-lang CODE --tgt-lang CODE",
        None => "",
    };
    format!(
        "{files}{}+{} layers, d_model {}, {} source and {} target tokens, {}\n\
         translate with: transformer-infer translate --model {}{flags}",
        config.n_encoder_layers,
        config.n_decoder_layers,
        config.d_model,
        config.src_vocab_size,
        config.tgt_vocab_size,
        languages_of(languages, &marian.tokenizers),
        out.display()
    )
}
