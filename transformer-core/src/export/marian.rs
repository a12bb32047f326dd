//! [`to_marian`] and [`to_pegasus`]: export a model to Hugging Face's Transformers.
//!
//! `MarianMTModel` is post-norm, without final normalizations. `PegasusForConditionalGeneration` is the same model with
//! pre-norm and final normalizations; it has one vocabulary and one matrix for it. Both have all sines before all
//! cosines: models with interleaved sinusoids are reordered ([`with_halves`]).

use std::path::Path;

use burn::tensor::TensorData;
use serde_json::{Value, json};

use super::ExportError;
use super::files::{Check, check_positions, refuse_unsupported};
use super::files::{create, remove, write, write_json, write_tokenizers};
use super::state_dict::renamed;
use crate::config::{
    Activation, Linear, NormPlacement, Place, Positions, TransformerConfig, Tying,
};
use crate::directory::Tokenizers;
use crate::import::StateDict;
use crate::import::marian::vocabulary::rows;
use crate::import::marian::weights::{BIAS, OUTPUT, POSITIONS, SHARED, SRC, TGT};
use crate::import::marian::{EarlyStopping, Generation};
use crate::import::names::{Layout, Names};
use crate::model::{Transformer, sinusoid_table};
use crate::text::sentencepiece::SpecialIds;
use crate::text::{BOS, EOS, PAD, UNK};

/// The only epsilon of layer normalization that both models support.
const NORM_EPSILON: f64 = 1e-5;

/// Minimum number of positions, as in OPUS-MT's models.
const MIN_POSITIONS: usize = 512;

/// Keys of ids, which the settings of the model have too. Without the last one, Transformers forces a default id at the
/// end: 0, or 1 for Pegasus.
const IDS: [&str; 5] = [
    "pad_token_id",
    "eos_token_id",
    "bos_token_id",
    "decoder_start_token_id",
    "forced_eos_token_id",
];

/// Writes `config.json`, `generation_config.json`, `model.safetensors` and the tokenizers into a folder.
///
/// Imported tokenizers are written in their original format: `vocab.json`, `source.spm`, `target.spm`. Others are
/// written as one or two `tokenizer.json`. An imported model gets its original ids; a model that was trained here keeps
/// its ids. Marian stores all sines of a position before all cosines, so the features of a model that interleaves them
/// are reordered; results are equal up to rounding.
///
/// # Errors
///
/// Returns an [`ExportError`] if Marian's models do not support a setting, if a file cannot be written, or if the
/// folder is a model directory.
pub fn to_marian(
    folder: impl AsRef<Path>,
    model: &Transformer,
    config: &TransformerConfig,
    tokenizers: &Tokenizers,
    generation: &Generation,
) -> Result<(), ExportError> {
    let exported = (model, config, tokenizers, generation);
    write_model(folder.as_ref(), &MARIAN, exported)
}

/// Writes the files of [`to_marian`] for `PegasusForConditionalGeneration` (Zhang et al. 2020,
/// <https://arxiv.org/abs/1912.08777>).
///
/// Its models have pre-norm, a final normalization of each stack, and one matrix for source, target and output.
///
/// # Errors
///
/// Returns an [`ExportError`] if Pegasus models do not support a setting, if a file cannot be written, or if the folder
/// is a model directory.
pub fn to_pegasus(
    folder: impl AsRef<Path>,
    model: &Transformer,
    config: &TransformerConfig,
    tokenizers: &Tokenizers,
    generation: &Generation,
) -> Result<(), ExportError> {
    let exported = (model, config, tokenizers, generation);
    write_model(folder.as_ref(), &PEGASUS, exported)
}

struct Architecture {
    name: &'static str,
    class: &'static str,
    model_type: &'static str,
    norm_placement: NormPlacement,
}

const MARIAN: Architecture = Architecture {
    name: "Marian's models",
    class: "MarianMTModel",
    model_type: "marian",
    norm_placement: NormPlacement::Post,
};

const PEGASUS: Architecture = Architecture {
    name: "Pegasus models",
    class: "PegasusForConditionalGeneration",
    model_type: "pegasus",
    norm_placement: NormPlacement::Pre,
};

impl Architecture {
    fn is_pegasus(&self) -> bool {
        self.norm_placement == NormPlacement::Pre
    }
}

fn write_model(
    folder: &Path,
    architecture: &Architecture,
    (model, config, tokenizers, generation): (
        &Transformer,
        &TransformerConfig,
        &Tokenizers,
        &Generation,
    ),
) -> Result<(), ExportError> {
    check(architecture, config)?;
    let n_positions = n_positions(config, generation);
    if architecture.is_pegasus() {
        let cause = match n_positions > config.max_positions {
            true => "max_len",
            false => "max_positions",
        };
        check_positions([n_positions, config.d_model], cause, architecture.name)?;
    }
    create(folder)?;
    // First: without it the folder is not a model while other files are replaced.
    remove(folder, "config.json")?;
    let (src, tgt) = (rows(tokenizers.src()), rows(tokenizers.tgt()));
    let sizes = (src.iter().flatten().count(), tgt.iter().flatten().count());
    let special = special(tokenizers);
    let mut weights = weights(model, config, &src, &tgt);
    if architecture.is_pegasus() {
        // Pegasus stores the positions as parameters; for Marian's models, Transformers computes them.
        let table = sinusoid_table(Positions::SinusoidalHalves, 0, n_positions, config.d_model);
        for name in POSITIONS {
            let table = TensorData::new(table.clone(), [n_positions, config.d_model]);
            weights.insert(name, table);
        }
    }
    let weights = weights.to_safetensors()?;
    write(folder, "model.safetensors", &weights)?;
    write_tokenizers(folder, tokenizers)?;
    // An imported model keeps its own list, which may allow `<unk>`.
    let unk = tokenizers.tgt().pieces().is_none().then_some(special.unk);
    let never = [special.pad, special.start].into_iter().chain(unk);
    let generation_json = generation_json(generation, special, never);
    write_json(folder, "generation_config.json", &generation_json)?;
    // Last: this file makes the folder a model.
    let json = config_json(architecture, config, sizes, n_positions, &generation_json);
    write_json(folder, "config.json", &json)
}

/// Returns the length of the table of sinusoids, which the longest output must not exceed.
fn n_positions(config: &TransformerConfig, generation: &Generation) -> usize {
    let of_search = max_length(generation).unwrap_or_default();
    of_search.max(MIN_POSITIONS).max(config.max_positions)
}

/// Returns the limit of the output as Transformers counts it, with the token that decoding starts from.
fn max_length(generation: &Generation) -> Option<usize> {
    generation.max_len.map(|len| len.saturating_add(1))
}

/// Refuses settings with which the class would compute other results.
fn check(architecture: &Architecture, config: &TransformerConfig) -> Result<(), ExportError> {
    let is_pegasus = architecture.is_pegasus();
    let own = [
        Check {
            key: "norm_placement",
            is_supported: config.norm_placement == architecture.norm_placement,
            found: placement_name(config.norm_placement).to_owned(),
            expected: placement_name(architecture.norm_placement),
        },
        Check {
            key: "final_norm",
            is_supported: config.final_norm == is_pegasus,
            found: config.final_norm.to_string(),
            expected: if is_pegasus { "true" } else { "false" },
        },
        Check {
            key: "tying",
            is_supported: !is_pegasus || config.tying == Tying::All,
            found: json!(config.tying).to_string(),
            expected: "all, which needs a joint vocabulary",
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
            key: "src_without_eos",
            is_supported: !config.src_without_eos,
            found: "true".to_owned(),
            expected: "false",
        },
        Check {
            key: "attention_bias",
            is_supported: config.attention_bias,
            found: "false".to_owned(),
            expected: "true",
        },
    ];
    refuse_unsupported(architecture.name, config, &[], own)
}

fn placement_name(placement: NormPlacement) -> &'static str {
    match placement {
        NormPlacement::Post => "post",
        NormPlacement::Pre => "pre",
    }
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

/// Returns our row for each id of the exported vocabulary; `rows` has the id of each row.
fn order(rows: &[Option<u32>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows.len()).filter(|row| rows[*row].is_some()).collect();
    order.sort_by_key(|row| rows[*row]);
    order
}

fn weights(
    model: &Transformer,
    config: &TransformerConfig,
    src: &[Option<u32>],
    tgt: &[Option<u32>],
) -> StateDict {
    let mut ours = StateDict::from_model(model);
    if config.positions == Positions::Sinusoidal {
        // Both have all sines before all cosines.
        ours = with_halves(&ours);
    }
    let mut theirs = renamed(&ours, config, |parameter| match parameter {
        Place::SrcVocabulary if config.tying == Tying::All => {
            Some((SHARED.to_owned(), Layout::Same))
        }
        Place::OutputBias => Some((BIAS.to_owned(), Layout::Same)),
        _ => Names::Marian.source(parameter, config),
    });
    let (src, tgt) = (order(src), order(tgt));
    for name in [SHARED, SRC, TGT, OUTPUT, BIAS] {
        if theirs.tensor(name).is_some() {
            theirs.select_rows(name, if name == SRC { &src } else { &tgt });
        }
    }
    let bias = theirs.remove(BIAS).map(|bias| bias.iter().collect());
    let bias = bias.unwrap_or_else(|| vec![0.0_f32; tgt.len()]);
    theirs.insert(BIAS, TensorData::new(bias, [1, tgt.len()]));
    theirs
}

/// Returns the settings of the model, with the ids in those for decoding.
fn config_json(
    architecture: &Architecture,
    config: &TransformerConfig,
    (n_src, n_tgt): (usize, usize),
    n_positions: usize,
    generation: &Value,
) -> Value {
    let activation = match config.activation {
        Activation::Silu => "swish",
        Activation::Relu => "relu",
        Activation::Gelu => "gelu",
    };
    let mut json = json!({
        "architectures": [architecture.class],
        "model_type": architecture.model_type,
        "is_encoder_decoder": true,
        "vocab_size": n_src,
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
        "tie_word_embeddings": config.tying != Tying::None,
        "max_position_embeddings": n_positions,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
        "torch_dtype": "float32",
    });
    for key in IDS {
        json[key] = generation[key].clone();
    }
    if !architecture.is_pegasus() {
        json["decoder_vocab_size"] = json!(n_tgt);
        json["share_encoder_decoder_embeddings"] = json!(config.tying == Tying::All);
    }
    json
}

/// Returns the settings for decoding; `never` are the tokens that are never generated.
fn generation_json(
    generation: &Generation,
    special: SpecialIds,
    never: impl Iterator<Item = u32>,
) -> Value {
    let mut banned = generation.banned.clone();
    for id in never {
        if !banned.contains(&vec![id]) {
            banned.push(vec![id]);
        }
    }
    json!({
        "num_beams": generation.num_beams,
        "max_length": max_length(generation),
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

/// Reorders the features of the residual stream, so that a model with interleaved sinusoids computes the same with all
/// sines before all cosines.
///
/// Only the sinusoids depend on the order of the features; all weights that read or write the stream are reordered
/// accordingly. Sums over features change their order, so results are equal up to rounding.
pub(super) fn with_halves(weights: &StateDict) -> StateDict {
    let mut reordered = weights.clone();
    for name in weights.names() {
        let axis = Place::named(name).and_then(stream_axis);
        if let (Some(axis), Some(data)) = (axis, weights.tensor(name)) {
            reordered.insert(name, in_halves(data, axis));
        }
    }
    reordered
}

/// Returns the axis of a parameter that counts the features of the residual stream.
fn stream_axis(parameter: Place) -> Option<usize> {
    use Linear::{Inner, Key, Outer, Output, Query, Value};
    match parameter {
        _ if parameter.is_vocabulary() => Some(1),
        Place::Matrix(_, Output | Outer) => Some(1),
        Place::Matrix(_, Query | Key | Value | Inner) => Some(0),
        Place::Bias(_, Output | Outer) | Place::Norm(..) | Place::FinalNorm(..) => Some(0),
        _ => None,
    }
}

/// Moves the even indices of an axis before the odd ones.
fn in_halves(data: &TensorData, axis: usize) -> TensorData {
    let shape = data.shape().to_vec();
    let values: Vec<f32> = data.iter::<f32>().collect();
    let len = shape[axis];
    let order = (0..len).step_by(2).chain((1..len).step_by(2));
    let width: usize = shape[axis + 1..].iter().product();
    let slices = values.chunks_exact(len * width);
    let reordered = slices.flat_map(|slice| {
        let rows = order.clone();
        rows.flat_map(move |row| slice[row * width..][..width].iter().copied())
    });
    TensorData::new(reordered.collect::<Vec<f32>>(), shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_features_come_before_odd_ones_along_either_axis() {
        let values: Vec<f32> = (0..8_u8).map(f32::from).collect();
        let rows = in_halves(&TensorData::new(values.clone(), [4, 2]), 0);
        let expected = [0.0_f32, 1.0, 4.0, 5.0, 2.0, 3.0, 6.0, 7.0];
        assert_eq!(rows, TensorData::new(expected.to_vec(), [4, 2]));
        let columns = in_halves(&TensorData::new(values, [2, 4]), 1);
        let expected = [0.0_f32, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0];
        assert_eq!(columns, TensorData::new(expected.to_vec(), [2, 4]));
    }
}
