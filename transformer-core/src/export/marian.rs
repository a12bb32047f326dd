//! [`to_marian`]: exports a model in Marian's format of Hugging Face's Transformers.

use std::path::Path;

use burn::tensor::TensorData;
use serde_json::{Value, json};

use super::ExportError;
use super::feature_order::with_halves;
use super::files::{create, remove, write, write_json, write_tokenizers};
use super::settings_check::{Check, refuse_unsupported};
use super::transpose::transposed;
use crate::config::{Activation, NormPlacement, Positions, TransformerConfig, Tying};
use crate::directory::Tokenizers;
use crate::import::StateDict;
use crate::import::marian::vocabulary::rows;
use crate::import::marian::weights::{BIAS, OUTPUT, SHARED, SRC, TGT};
use crate::import::marian::{EarlyStopping, Generation};
use crate::import::names::{Layout, Names};
use crate::model::Transformer;
use crate::text::sentencepiece::SpecialIds;
use crate::text::{BOS, EOS, PAD, UNK};

/// The only epsilon of layer normalization that `MarianMTModel` supports.
const NORM_EPSILON: f64 = 1e-5;

/// Minimum number of positions, as in OPUS-MT's models.
const MIN_POSITIONS: usize = 512;

/// Writes `config.json`, `generation_config.json`, `model.safetensors` and the tokenizers into a folder.
///
/// Imported tokenizers are written in their original format: `vocab.json`, `source.spm`, `target.spm`. Others are
/// written as one or two `tokenizer.json`. An imported model gets its original ids; a model that was trained here
/// keeps its ids. Marian has all sines of a position before all cosines: the features of a model that interleaves them
/// are reordered, with results that are equal up to rounding.
///
/// # Errors
///
/// Returns an [`ExportError`] with a setting that Marian's models do not support, or with a file that cannot be
/// written, or if the folder is a model directory.
pub fn to_marian(
    folder: impl AsRef<Path>,
    model: &Transformer,
    config: &TransformerConfig,
    tokenizers: &Tokenizers,
    generation: &Generation,
) -> Result<(), ExportError> {
    let folder = folder.as_ref();
    check(config)?;
    create(folder)?;
    // First: without it the folder is not a model while other files are replaced.
    remove(folder, "config.json")?;
    let (src, tgt) = (rows(tokenizers.src()), rows(tokenizers.tgt()));
    let sizes = (src.iter().flatten().count(), tgt.iter().flatten().count());
    let special = special(tokenizers);
    let weights = weights(model, config, &src, &tgt)?;
    write(folder, "model.safetensors", &weights)?;
    write_tokenizers(folder, tokenizers)?;
    // An imported model keeps its own list, which may allow `<unk>`.
    let unk = tokenizers.tgt().pieces().is_none().then_some(special.unk);
    let never = [special.pad, special.start].into_iter().chain(unk);
    let json = generation_json(generation, special, never.collect());
    write_json(folder, "generation_config.json", &json)?;
    // Last: this file makes the folder a model.
    write_json(
        folder,
        "config.json",
        &config_json(config, sizes, generation, special),
    )
}

/// Refuses settings with which `MarianMTModel` would compute something else.
fn check(config: &TransformerConfig) -> Result<(), ExportError> {
    let own = [
        Check {
            key: "norm_placement",
            is_supported: config.norm_placement == NormPlacement::Post,
            found: "pre".to_owned(),
            expected: "post",
        },
        Check {
            key: "final_norm",
            is_supported: !config.final_norm,
            found: "true".to_owned(),
            expected: "false",
        },
        Check {
            key: "norm_epsilon",
            is_supported: config.norm_epsilon == NORM_EPSILON,
            found: config.norm_epsilon.to_string(),
            expected: "0.00001",
        },
        Check {
            key: "positions",
            is_supported: matches!(
                config.positions,
                Positions::Sinusoidal | Positions::SinusoidalHalves
            ),
            found: json!(config.positions).to_string(),
            expected: "sinusoidal and sinusoidal_halves",
        },
        Check {
            key: "attention_bias",
            is_supported: config.attention_bias,
            found: "false".to_owned(),
            expected: "true",
        },
    ];
    refuse_unsupported(
        "Marian's models",
        own.into_iter().chain(Check::standard_attention(config)),
    )
}

/// Returns the ids of the target's special tokens in the exported vocabulary.
fn special(tokenizers: &Tokenizers) -> SpecialIds {
    let ours = SpecialIds {
        pad: PAD,
        unk: UNK,
        start: BOS,
        eos: EOS,
    };
    tokenizers
        .tgt()
        .pieces()
        .map_or(ours, |pieces| pieces.special())
}

/// Converts parameters to Marian's names and layout.
struct Conversion<'a> {
    config: &'a TransformerConfig,
    src: &'a [Option<u32>],
    tgt: &'a [Option<u32>],
}

impl Conversion<'_> {
    /// Converts a parameter; `None` for one that Marian's models do not have.
    fn tensor(&self, parameter: &str, data: &TensorData) -> Option<(String, TensorData)> {
        let values: Vec<f32> = data.iter::<f32>().collect();
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
                let ordered = in_original_order(&values, rows, width);
                let n_rows = ordered.len() / width;
                TensorData::new(ordered, [n_rows, width])
            }
            _ => {
                let ordered = in_original_order(&values, rows, 1);
                let n_rows = ordered.len();
                TensorData::new(ordered, [1, n_rows])
            }
        };
        Some((name.to_owned(), tensor))
    }

    /// Converts a parameter of a layer.
    fn layer(&self, parameter: &str, data: &TensorData) -> Option<(String, TensorData)> {
        let target = Names::Marian.source_tensor(parameter, self.config)?;
        let tensor = match (target.layout, &data.shape()[..]) {
            (Layout::Linear, &[_, _]) => transposed(data),
            _ => data.clone(),
        };
        Some((target.name, tensor))
    }
}

/// Reorders rows of `width` values to Marian's ids, which `rows` gives for each row.
fn in_original_order(values: &[f32], rows: &[Option<u32>], width: usize) -> Vec<f32> {
    let mut order: Vec<(u32, usize)> = Vec::with_capacity(rows.len());
    order.extend(
        rows.iter()
            .zip(0..)
            .filter_map(|(row, index)| Some(((*row)?, index))),
    );
    order.sort_unstable();
    let row = |(_, index): &(u32, usize)| &values[index * width..][..width];
    order.iter().flat_map(row).copied().collect()
}

fn weights(
    model: &Transformer,
    config: &TransformerConfig,
    src: &[Option<u32>],
    tgt: &[Option<u32>],
) -> Result<Vec<u8>, ExportError> {
    let conversion = Conversion { config, src, tgt };
    let mut ours = StateDict::from_model(model);
    if config.positions == Positions::Sinusoidal {
        // Marian has all sines before all cosines.
        ours = with_halves(&ours);
    }
    let mut theirs = StateDict::default();
    for parameter in ours.names() {
        let data = ours.tensor(parameter);
        if let Some((name, tensor)) = data.and_then(|data| conversion.tensor(parameter, data)) {
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
    generation: &Generation,
    special: SpecialIds,
) -> Value {
    let activation = match config.activation {
        Activation::Silu => "swish",
        Activation::Relu => "relu",
        Activation::Gelu => "gelu",
    };
    // The token that decoding starts from takes a position.
    let n_positions = generation
        .max_len
        .map_or(0, |len| len + 1)
        .max(MIN_POSITIONS);
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
        // Transformers computes a table of sinusoids of this size, which the longest output must not exceed.
        "max_position_embeddings": config.max_positions.max(n_positions),
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
        "pad_token_id": special.pad,
        "eos_token_id": special.eos,
        "bos_token_id": special.start,
        "decoder_start_token_id": special.start,
        // Without this key, Transformers uses Marian's id.
        "forced_eos_token_id": generation.forces_end.then_some(special.eos),
        "torch_dtype": "float32",
    })
}

/// Returns the settings for decoding; `never` are the tokens that are never generated.
fn generation_json(generation: &Generation, special: SpecialIds, never: Vec<u32>) -> Value {
    let mut banned = generation.banned.clone();
    for id in never {
        if !banned.contains(&vec![id]) {
            banned.push(vec![id]);
        }
    }
    json!({
        "num_beams": generation.num_beams,
        // Transformers counts the token that decoding starts from.
        "max_length": generation.max_len.map(|len| len + 1),
        "length_penalty": generation.length_penalty,
        "early_stopping": match generation.early_stopping {
            EarlyStopping::Heuristic => json!(false),
            EarlyStopping::Early => json!(true),
            EarlyStopping::Never => json!("never"),
        },
        "renormalize_logits": generation.renormalizes,
        "bad_words_ids": banned,
        "pad_token_id": special.pad,
        "eos_token_id": special.eos,
        "bos_token_id": special.start,
        "decoder_start_token_id": special.start,
        "forced_eos_token_id": generation.forces_end.then_some(special.eos),
    })
}
