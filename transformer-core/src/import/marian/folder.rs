//! [`Marian`]: a model and its tokenizers, imported from a folder of Hugging Face's Transformers or in Marian's binary
//! format.

use std::path::{Path, PathBuf};

use burn::tensor::Device;

use super::settings::{self, Generation, Settings};
use super::{MarianError, binary, vocabulary, weights};
use crate::Shortlist;
use crate::config::TransformerConfig;
use crate::directory::{Languages, Tokenizers};
use crate::import::{ImportError, Names, ctranslate2};
use crate::model::Transformer;

/// An imported Marian model with its tokenizers.
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
pub struct Marian {
    /// The config of the model.
    pub config: TransformerConfig,
    /// The tokenizers of both sides, with ids in our order.
    pub tokenizers: Tokenizers,
    /// The languages in `tokenizer_config.json`, or else in a name of the folder such as `opus-mt-en-de`.
    pub languages: Languages,
    /// The model's settings for decoding.
    pub generation: Generation,
    /// The model, with its weights.
    pub model: Transformer,
    /// The shortlist of a model in Marian's binary format, in our ids.
    pub shortlist: Option<Shortlist>,
    /// The file of the weights.
    pub weights: PathBuf,
    /// Names of all files of a model in Marian's binary format or CTranslate2's; empty for other models.
    pub files: Vec<String>,
}

impl Marian {
    /// Reads a folder with `config.json`, `vocab.json`, `source.spm`, `target.spm`, and `model.safetensors` or
    /// `pytorch_model.bin`. Optional are `generation_config.json`, `tokenizer_config.json` and
    /// `target_vocab.json`. No code in a pickle is run.
    ///
    /// A folder with `model.bin`, or a zip archive, is read as a model of [CTranslate2](crate::import::ctranslate2) or a
    /// package of Argos Translate. A `.bin` file, or a folder with `model.*.bin` and without `config.json`, is read as a
    /// model in Marian's [binary format](super::binary).
    ///
    /// # Errors
    ///
    /// Returns a [`MarianError`] that names the file and the problem.
    pub fn read(folder: impl AsRef<Path>, device: &Device) -> Result<Self, MarianError> {
        Self::read_with_pieces(folder, &[], device)
    }

    /// Reads a model as [`read`](Self::read), or a model of CTranslate2 that has no SentencePiece model: `pieces` is that
    /// of both sides, or those of source and target.
    ///
    /// # Errors
    ///
    /// Returns a [`MarianError`] as `read` does.
    pub fn read_with_pieces(
        folder: impl AsRef<Path>,
        pieces: &[PathBuf],
        device: &Device,
    ) -> Result<Self, MarianError> {
        let folder = folder.as_ref();
        if ctranslate2::is_ctranslate2(folder) {
            return ctranslate2::read(folder, pieces, device);
        }
        if binary::is_binary(folder) {
            return binary::read(folder, device);
        }
        let settings = Settings::read(folder)?;
        let languages = settings::languages(folder)?;
        let tokenizers = vocabulary::read(folder, &settings)?;
        let n_rows = |tokenizer| vocabulary::rows(tokenizer).len();
        let (n_src, n_tgt) = (n_rows(tokenizers.src()), n_rows(tokenizers.tgt()));
        let config = settings.config(folder, n_src, n_tgt)?;
        let (dict, path) = weights::read(folder, &settings, &tokenizers, device)?;
        let model = match dict.to_transformer(&config, &Names::Marian, device) {
            Ok(model) => model,
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
        Ok(Self {
            config,
            tokenizers,
            languages,
            generation: settings.generation(folder)?,
            model,
            weights: path,
            shortlist: None,
            files: Vec::new(),
        })
    }
}
