//! [`Marian`]: a model and its tokenizers, imported from a folder of Hugging Face's Transformers or in Marian's binary
//! format.

use std::path::PathBuf;

use burn::tensor::Device;

use super::settings::{self, Settings};
use super::{Generation, MarianError, binary, multilingual, vocabulary, weights};
use crate::config::TransformerConfig;
use crate::directory::{Languages, ModelFiles, StoredTensors, Tokenizers};
use crate::import::{ImportError, Names, ctranslate2};
use crate::model::Transformer;
use crate::text::{LanguageLayout, LanguageTokens};
use crate::{ComputePrecision, PackedTransformer, Shortlist};

/// An imported model of Marian, of CTranslate2, or of Transformers (BART, Pegasus and multilingual ones), with its tokenizers.
///
/// # Example
///
/// ```no_run
/// use transformer_core::device;
/// use transformer_core::import::Marian;
///
/// let (_, device) = device::choose(None)?;
/// let marian = Marian::read("opus-mt-en-de", &device)?;
/// let ids = marian.tokenizers.src().encode("Good morning.");
/// println!("{} tokens, {} layers", ids.len(), marian.config.n_encoder_layers);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Marian<M = Transformer> {
    /// The config of the model.
    pub config: TransformerConfig,
    /// The tokenizers of both sides, with ids in our order.
    pub tokenizers: Tokenizers,
    /// The languages in `tokenizer_config.json`, or else in a name of the folder such as `opus-mt-en-de`; of a
    /// multilingual model those of its default, if it has one.
    pub languages: Languages,
    /// The model's settings for decoding.
    pub generation: Generation,
    /// The model, with its weights.
    pub model: M,
    /// The shortlist of a model in Marian's binary format, in our ids.
    pub shortlist: Option<Shortlist>,
    /// The program that the model is from, or its family.
    pub kind: &'static str,
    /// The file of the weights.
    pub weights: PathBuf,
    /// Names of all files of a model in Marian's binary format or CTranslate2's; empty for other models.
    pub files: Vec<String>,
}

impl Marian<PackedTransformer> {
    /// Reads a model in Marian's [binary format](super::binary) for generation on CPUs. The shortlist is left to the caller.
    ///
    /// # Errors
    ///
    /// Returns a [`MarianError`] that names the file and the problem.
    pub fn read_packed(
        files: impl Into<ModelFiles>,
        precision: ComputePrecision,
    ) -> Result<Self, MarianError> {
        binary::read(&files.into(), |config, tensors| {
            packed(config, tensors, precision)
        })
    }

    /// Reads any model that [`Marian::read_with_pieces`] reads, for generation on CPUs. Without a precision, a model of
    /// CTranslate2 in 8-bit integers computes in them, and any other model in 32-bit floats.
    ///
    /// # Errors
    ///
    /// Returns a [`MarianError`] that names the file and the problem.
    pub fn read_packed_with_pieces(
        folder: impl Into<ModelFiles>,
        pieces: &[PathBuf],
        precision: Option<ComputePrecision>,
    ) -> Result<Self, MarianError> {
        read_as(&folder.into(), pieces, |config, tensors, stored| {
            packed(config, tensors, precision.unwrap_or(stored))
        })
    }
}

impl Marian {
    /// Reads a folder with `config.json`, `vocab.json`, `source.spm`, `target.spm`, and `model.safetensors` or
    /// `pytorch_model.bin`. Optional are `generation_config.json`, `tokenizer_config.json` and
    /// `target_vocab.json`. No code in a pickle is run. A multilingual model has `sentencepiece.bpe.model`
    /// for both sides, Pegasus `spiece.model`, and BART `merges.txt` or `tokenizer.json`.
    ///
    /// A folder with `model.bin`, or a zip archive, is read as a model of [CTranslate2](crate::import::ctranslate2) or a
    /// package of Argos Translate. A `.bin` file, or a folder with `model.*.bin` and without `config.json`, is read as a
    /// model in Marian's [binary format](super::binary), and so are [files in memory](ModelFiles).
    ///
    /// # Errors
    ///
    /// Returns a [`MarianError`] that names the file and the problem.
    pub fn read(folder: impl Into<ModelFiles>, device: &Device) -> Result<Self, MarianError> {
        Self::read_with_pieces(folder, &[], device)
    }

    /// Reads a model as [`read`](Self::read), or a model of CTranslate2 that has no SentencePiece model: `pieces` is that
    /// of both sides, or those of source and target.
    ///
    /// # Errors
    ///
    /// Returns a [`MarianError`] as `read` does.
    pub fn read_with_pieces(
        folder: impl Into<ModelFiles>,
        pieces: &[PathBuf],
        device: &Device,
    ) -> Result<Self, MarianError> {
        read_as(&folder.into(), pieces, |config, tensors, _| {
            let model = tensors.into_model(config, device);
            model.unwrap_or_else(|error| unreachable!("the table is complete: {error}"))
        })
    }
}

fn packed(
    config: &TransformerConfig,
    tensors: StoredTensors,
    precision: ComputePrecision,
) -> PackedTransformer {
    let model = PackedTransformer::pack(config, tensors, precision);
    model.unwrap_or_else(|error| unreachable!("the table is complete: {error}"))
}

/// Reads a model, and builds it from its tensors and the number format that it is stored in.
fn read_as<M>(
    files: &ModelFiles,
    pieces: &[PathBuf],
    build: impl FnOnce(&TransformerConfig, StoredTensors, ComputePrecision) -> M,
) -> Result<Marian<M>, MarianError> {
    let floats = ComputePrecision::F32;
    let ModelFiles::Path(folder) = files else {
        return binary::read(files, |config, tensors| build(config, tensors, floats));
    };
    if ctranslate2::is_ctranslate2(folder) {
        return ctranslate2::read(folder, pieces, build);
    }
    if !pieces.is_empty() {
        let path = folder.to_owned();
        return Err(MarianError::UnusedPieces { path });
    }
    if binary::is_binary(folder) {
        return binary::read(files, |config, tensors| build(config, tensors, floats));
    }
    let settings = Settings::read(folder)?;
    let tokenizers = match settings.family.is_multilingual() {
        true => multilingual::read(folder, &settings)?,
        false => vocabulary::read(folder, &settings)?,
    };
    let n_rows = |tokenizer| vocabulary::rows(tokenizer).len();
    let (n_src, n_tgt) = (n_rows(tokenizers.src()), n_rows(tokenizers.tgt()));
    let mut config = settings.config(folder, n_src, n_tgt)?;
    let layout = tokenizers.src().languages().map(LanguageTokens::layout);
    // The end of the source is before its last token, so it is added with that.
    config.src_without_eos = layout == Some(LanguageLayout::SourceLast);
    let (dict, path) = weights::read(folder, &settings, &tokenizers)?;
    let model = match dict.into_tensors(&config, &Names::Marian) {
        Ok(tensors) => build(&config, tensors, floats),
        Err(ImportError::Config(source)) => return Err(MarianError::Config { path, source }),
        Err(ImportError::Misfits { misfits }) => {
            return Err(MarianError::Tensors { path, misfits });
        }
        Err(ImportError::TooSmall {
            n_parameters,
            n_values,
        }) => {
            return Err(MarianError::TooSmall {
                path,
                n_parameters,
                n_values,
            });
        }
    };
    let generation = settings.generation(folder)?;
    Ok(Marian {
        languages: match settings.family.is_multilingual() {
            true => multilingual::languages(&tokenizers, &generation),
            false => settings::languages(folder)?,
        },
        config,
        tokenizers,
        generation,
        kind: settings.family.name(),
        model,
        weights: path,
        shortlist: None,
        files: Vec::new(),
    })
}
