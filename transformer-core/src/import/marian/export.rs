//! [`export`]: a model of ours as Hugging Face's Transformers keeps Marian's.

use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::TensorData;
use serde_json::{Value, json};
use thiserror::Error;

use super::settings::Generation;
use super::vocabulary::{OWN, SRC_MODEL, SRC_VOCABULARY, TGT_MODEL, TGT_VOCABULARY, rows};
use super::weights::{BIAS, OUTPUT, SHARED, SRC, TGT};
use crate::config::{Activation, NormPlacement, Positions, TransformerConfig, Tying};
use crate::directory::{Tokenizers, replace_file};
use crate::import::names::Form;
use crate::import::{Names, StateDict};
use crate::model::Transformer;
use crate::text::sentencepiece::SpecialIds;
use crate::text::{BOS, EOS, PAD, UNK};

/// The only epsilon of layer normalization that Marian's models have in Transformers.
const NORM_EPSILON: f64 = 1e-5;

/// Says why a model cannot be exported.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The format has no word for a setting.
    #[error(
        "`{key}` is {found}, which Marian's models cannot have; only {expected} can be exported"
    )]
    Setting {
        /// The field of the config.
        key: &'static str,
        /// Its value.
        found: String,
        /// What could be exported.
        expected: &'static str,
    },
    /// A tensor cannot be written.
    #[error("the weights cannot be put into a file")]
    Safetensors(#[from] safetensors::SafeTensorError),
    /// A file cannot be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Writes `config.json`, `generation_config.json`, `model.safetensors` and the tokenizers into a folder.
///
/// Tokenizers that were imported come out as they came in: `vocab.json`, `source.spm`, `target.spm`. Others
/// are the `tokenizer.json` that they are, or two of them. Ids are again what they were before an import,
/// and those of a model that was trained here stay.
///
/// # Errors
///
/// Returns an [`ExportError`] that names a setting which Marian's models cannot have, or a file that cannot
/// be written.
pub fn export(
    folder: impl AsRef<Path>,
    model: &Transformer,
    config: &TransformerConfig,
    tokenizers: &Tokenizers,
    generation: &Generation,
) -> Result<(), ExportError> {
    let folder = folder.as_ref();
    check(config)?;
    create(folder)?;
    let (src, tgt) = (rows(tokenizers.src()), rows(tokenizers.tgt()));
    let sizes = (src.iter().flatten().count(), tgt.iter().flatten().count());
    let special = special(tokenizers);
    let weights = weights(model, config, &src, &tgt)?;
    write(folder, "model.safetensors", &weights)?;
    write_tokenizers(folder, tokenizers)?;
    let json = generation_json(generation, special);
    write_json(folder, "generation_config.json", &json)?;
    // The file that makes the folder a model comes last.
    write_json(folder, "config.json", &config_json(config, sizes, special))
}

/// Writes `config.json` (a [`TransformerConfig`]), `model.safetensors` (by the names of a model directory's
/// record) and the tokenizers into a folder, for programs that are written for them.
///
/// # Errors
///
/// Returns an [`ExportError`] that names the file that cannot be written.
pub fn export_safetensors(
    folder: impl AsRef<Path>,
    model: &Transformer,
    config: &TransformerConfig,
    tokenizers: &Tokenizers,
) -> Result<(), ExportError> {
    let folder = folder.as_ref();
    create(folder)?;
    write(
        folder,
        "model.safetensors",
        &StateDict::of(model).to_safetensors()?,
    )?;
    write_tokenizers(folder, tokenizers)?;
    write_json(folder, "config.json", &json!(config))
}

fn create(folder: &Path) -> Result<(), ExportError> {
    fs::create_dir_all(folder).map_err(|source| ExportError::Write {
        path: folder.to_owned(),
        source,
    })
}

/// Refuses what `MarianMTModel` computes otherwise.
fn check(config: &TransformerConfig) -> Result<(), ExportError> {
    let width = config.d_model / config.n_heads;
    let checks = [
        (
            "norm_placement",
            config.norm_placement == NormPlacement::Post,
            "pre".to_owned(),
            "post",
        ),
        ("final_norm", !config.final_norm, "true".to_owned(), "false"),
        (
            "norm_epsilon",
            config.norm_epsilon == NORM_EPSILON,
            config.norm_epsilon.to_string(),
            "0.00001",
        ),
        (
            "positions",
            config.positions == Positions::SinusoidalHalves,
            json!(config.positions).to_string(),
            "sinusoidal_halves",
        ),
        (
            "attention_bias",
            config.attention_bias,
            "false".to_owned(),
            "true",
        ),
        (
            "d_k",
            config.head_d_k() == width && width * config.n_heads == config.d_model,
            config.head_d_k().to_string(),
            "d_model / n_heads",
        ),
        (
            "d_v",
            config.head_d_v() == width,
            config.head_d_v().to_string(),
            "d_model / n_heads",
        ),
        (
            "encoder_window",
            config.encoder_window.is_none(),
            json!(config.encoder_window).to_string(),
            "attention without a window",
        ),
        (
            "decoder_window",
            config.decoder_window.is_none(),
            json!(config.decoder_window).to_string(),
            "attention without a window",
        ),
    ];
    let misfit = checks.into_iter().find(|(_, fits, ..)| !fits);
    misfit.map_or(Ok(()), |(key, _, found, expected)| {
        Err(ExportError::Setting {
            key,
            found,
            expected,
        })
    })
}

/// Returns the special ids of the target, in the numbers of the folder.
fn special(tokenizers: &Tokenizers) -> SpecialIds {
    let ours = SpecialIds {
        pad: PAD,
        unk: UNK,
        start: BOS,
        eos: EOS,
    };
    tokenizers.tgt().pieces().map_or(ours, |it| it.special())
}

/// Puts the parameters of a model under the names and in the layout of Marian's.
struct Renaming<'a> {
    config: &'a TransformerConfig,
    src: &'a [Option<u32>],
    tgt: &'a [Option<u32>],
}

impl Renaming<'_> {
    /// Returns a parameter as it is there; `None` for one that Marian's models do not have.
    fn tensor(&self, parameter: &str, data: &TensorData) -> Option<(String, TensorData)> {
        let numbers: Vec<f32> = data.iter::<f32>().collect();
        let name = match (parameter, self.config.tying) {
            ("src_vocabulary.weight", Tying::All) => SHARED,
            ("src_vocabulary.weight", _) => SRC,
            ("tgt_vocabulary.weight", _) => TGT,
            ("output.weight", _) => OUTPUT,
            ("output_bias", _) => BIAS,
            _ => return self.layer(parameter, data),
        };
        let rows = if name == SRC { self.src } else { self.tgt };
        let tensor = match data.shape()[..] {
            [_, width] => {
                let ordered = in_their_order(&numbers, rows, width);
                let n_rows = ordered.len() / width;
                TensorData::new(ordered, [n_rows, width])
            }
            _ => {
                let ordered = in_their_order(&numbers, rows, 1);
                let n_rows = ordered.len();
                TensorData::new(ordered, [1, n_rows])
            }
        };
        Some((name.to_owned(), tensor))
    }

    /// Returns a parameter of a layer under its name there.
    fn layer(&self, parameter: &str, data: &TensorData) -> Option<(String, TensorData)> {
        let origin = Names::Marian.origin(parameter, self.config)?;
        let tensor = match (origin.form, &data.shape()[..]) {
            (Form::Linear, &[d_in, d_out]) => {
                let numbers: Vec<f32> = data.iter::<f32>().collect();
                let column = |first: usize| numbers[first..].iter().step_by(d_out).copied();
                let turned: Vec<f32> = (0..d_out).flat_map(column).collect();
                TensorData::new(turned, [d_out, d_in])
            }
            _ => data.clone(),
        };
        Some((origin.name, tensor))
    }
}

/// Puts rows of `width` numbers in the order that they had before the import.
fn in_their_order(numbers: &[f32], rows: &[Option<u32>], width: usize) -> Vec<f32> {
    let mut places: Vec<(u32, usize)> = Vec::with_capacity(rows.len());
    places.extend(
        rows.iter()
            .zip(0..)
            .filter_map(|(row, place)| Some(((*row)?, place))),
    );
    places.sort_unstable();
    let row = |(_, place): &(u32, usize)| &numbers[place * width..][..width];
    places.iter().flat_map(row).copied().collect()
}

fn weights(
    model: &Transformer,
    config: &TransformerConfig,
    src: &[Option<u32>],
    tgt: &[Option<u32>],
) -> Result<Vec<u8>, ExportError> {
    let renaming = Renaming { config, src, tgt };
    let ours = StateDict::of(model);
    let mut theirs = StateDict::default();
    for parameter in ours.names() {
        let data = ours.tensor(parameter);
        if let Some((name, tensor)) = data.and_then(|it| renaming.tensor(parameter, it)) {
            theirs.insert(name, tensor);
        }
    }
    if theirs.tensor(BIAS).is_none() {
        let n_tgt = tgt.iter().flatten().count();
        theirs.insert(BIAS, TensorData::zeros::<f32, _>([1, n_tgt]));
    }
    Ok(theirs.to_safetensors()?)
}

fn config_json(
    config: &TransformerConfig,
    (n_src, n_tgt): (usize, usize),
    special: SpecialIds,
) -> Value {
    let activation = match config.activation {
        Activation::Silu => "swish",
        Activation::Relu => "relu",
        Activation::Gelu => "gelu",
    };
    json!({
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": true,
        "vocab_size": n_src,
        "decoder_vocab_size": n_tgt,
        "d_model": config.d_model,
        "encoder_layers": config.n_encoder_layers,
        "decoder_layers": config.n_decoder_layers,
        "num_hidden_layers": config.n_encoder_layers,
        "encoder_attention_heads": config.n_heads,
        "decoder_attention_heads": config.n_heads,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "activation_function": activation,
        "scale_embedding": config.scale_embeddings,
        "share_encoder_decoder_embeddings": config.tying == Tying::All,
        "tie_word_embeddings": config.tying != Tying::None,
        "max_position_embeddings": config.max_positions,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
        "pad_token_id": special.pad,
        "eos_token_id": special.eos,
        "bos_token_id": special.start,
        "decoder_start_token_id": special.start,
        "forced_eos_token_id": special.eos,
        "torch_dtype": "float32",
    })
}

fn generation_json(generation: &Generation, special: SpecialIds) -> Value {
    let mut banned = generation.banned.clone();
    // Neither is ever text, and our search never writes them.
    for id in [special.pad, special.start] {
        if !banned.contains(&vec![id]) {
            banned.push(vec![id]);
        }
    }
    json!({
        "num_beams": generation.num_beams,
        // Decoding starts from a token that counts there, and the end is forced into the last place.
        "max_length": generation.max_len.map(|len| len + 2),
        "length_penalty": generation.length_penalty,
        "early_stopping": generation.stops_early,
        "bad_words_ids": banned,
        "pad_token_id": special.pad,
        "eos_token_id": special.eos,
        "bos_token_id": special.start,
        "decoder_start_token_id": special.start,
        "forced_eos_token_id": special.eos,
    })
}

fn write_tokenizers(folder: &Path, tokenizers: &Tokenizers) -> Result<(), ExportError> {
    let (src, tgt) = (tokenizers.src(), tokenizers.tgt());
    let (Some(src), Some(tgt)) = (src.pieces(), tgt.pieces()) else {
        let [joint, src_file, tgt_file] = OWN;
        let files = match tokenizers {
            Tokenizers::Joint(tokenizer) => vec![(joint, tokenizer)],
            Tokenizers::Separate { .. } => vec![(src_file, src), (tgt_file, tgt)],
        };
        for (name, tokenizer) in files {
            write(folder, name, tokenizer.to_json().as_bytes())?;
        }
        let json = json!({
            "tokenizer_class": "PreTrainedTokenizerFast",
            "pad_token": "<pad>",
            "unk_token": "<unk>",
            "bos_token": "<s>",
            "eos_token": "</s>",
        });
        return write_json(folder, "tokenizer_config.json", &json);
    };
    let are_separate = src.tokens() != tgt.tokens();
    let ids = |tokens: &[String]| -> Value {
        let ids = tokens.iter().cloned().zip(0..);
        Value::Object(
            ids.map(|(token, id): (_, u32)| (token, id.into()))
                .collect(),
        )
    };
    write(folder, SRC_MODEL, src.model().file())?;
    write(folder, TGT_MODEL, tgt.model().file())?;
    write_json(folder, SRC_VOCABULARY, &ids(src.tokens()))?;
    if are_separate {
        write_json(folder, TGT_VOCABULARY, &ids(tgt.tokens()))?;
    }
    let json = json!({ "tokenizer_class": "MarianTokenizer", "separate_vocabs": are_separate });
    write_json(folder, "tokenizer_config.json", &json)
}

fn write_json(folder: &Path, name: &str, json: &Value) -> Result<(), ExportError> {
    write(folder, name, format!("{json:#}\n").as_bytes())
}

fn write(folder: &Path, name: &str, content: &[u8]) -> Result<(), ExportError> {
    replace_file(folder, name, content).map_err(|source| ExportError::Write {
        path: folder.join(name),
        source,
    })
}
