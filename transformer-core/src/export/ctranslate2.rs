//! [`to_ctranslate2`]: exports a model for CTranslate2 (<https://github.com/OpenNMT/CTranslate2>).
//!
//! `model.bin` has the format of `ModelSpec.save`: revision 7 of `TransformerSpec`, version 6 of the container. Numbers
//! are little-endian; a name follows its length and ends with a zero byte.

use std::collections::BTreeMap;
use std::path::Path;

use burn::tensor::TensorData;
use serde_json::json;

use super::ExportError;
use super::files::{check_positions, refuse_unsupported};
use super::files::{create, remove, write, write_json, write_tokenizers};
use super::state_dict::renamed;
use crate::config::{Activation, NormPlacement, Positions, Stack, TransformerConfig, Tying};
use crate::directory::Tokenizers;
use crate::import::names::programs::{PROJECTION, SRC_EMBEDDING, TGT_EMBEDDING};
use crate::import::{Names, StateDict};
use crate::model::{Transformer, sinusoid_table};
use crate::text::{BOS, EOS, Tokenizer, UNK};

const MODEL: &str = "model.bin";
const CONTAINER_VERSION: u32 = 6;
const SPEC: &str = "TransformerSpec";
const SPEC_REVISION: u32 = 7;
const FORMAT: &str = "CTranslate2's models";

/// The supported settings among those that saved models have only if they differ from the default.
const SUPPORTED: [&str; 6] = [
    "embedding_norm",
    "first_position",
    "gated_feed_forward",
    "norm_kind",
    "src_without_eos",
    "start_from_zeros",
];

/// Minimum number of positions of sinusoids: by default, CTranslate2 truncates sources to 1024 tokens.
const MIN_POSITIONS: usize = 1024;

/// Name of the target's positions, which the source may share.
const TGT_POSITIONS: &str = "decoder/position_encodings/encodings";

enum Value {
    /// Kind 0: a tensor in single precision.
    Tensor(TensorData),
    /// Kind 1.
    Int8(i8),
    /// Kind 2.
    Int16(i16),
    Alias(&'static str),
}

/// Writes `model.bin`, `config.json`, the vocabularies and the tokenizers into a folder for CTranslate2.
///
/// Weights are in single precision; CTranslate2 converts them while loading, by its `compute_type`. Sinusoids are
/// written for [`max_positions`](TransformerConfig::max_positions) tokens, at least 1024. The format has no settings
/// for decoding: beam size, length penalty and limits are arguments of `translate_batch`, and so is the suppression
/// of `<unk>`, `<pad>` and `<s>`: `disable_unk=True, suppress_sequences=[["<pad>"], ["<s>"]]`.
///
/// # Errors
///
/// Returns an [`ExportError`] if CTranslate2 does not support a setting, if a file cannot be written, or if the folder
/// is a model directory.
pub fn to_ctranslate2(
    folder: impl AsRef<Path>,
    model: &Transformer,
    config: &TransformerConfig,
    tokenizers: &Tokenizers,
) -> Result<(), ExportError> {
    let folder = folder.as_ref();
    refuse_unsupported(FORMAT, config, &SUPPORTED, [])?;
    let content = serialize(&values(model, config)?)?;
    create(folder)?;
    // Files of another model: CTranslate2 would prefer its shared vocabulary to two separate ones.
    for name in [
        MODEL,
        "shared_vocabulary.json",
        "source_vocabulary.json",
        "target_vocabulary.json",
    ] {
        remove(folder, name)?;
    }
    write_tokenizers(folder, tokenizers)?;
    match tokenizers {
        Tokenizers::Joint(tokenizer) => write_vocabulary(folder, "shared", tokenizer)?,
        Tokenizers::Separate { src, tgt } => {
            write_vocabulary(folder, "source", src)?;
            write_vocabulary(folder, "target", tgt)?;
        }
    }
    let tgt = tokenizers.tgt();
    let json = json!({
        "add_source_bos": false,
        "add_source_eos": !config.src_without_eos,
        "bos_token": tgt.token(BOS),
        "decoder_start_token": tgt.token(BOS),
        "eos_token": tgt.token(EOS),
        "layer_norm_epsilon": config.norm_epsilon,
        "multi_query_attention": false,
        "unk_token": tgt.token(UNK),
    });
    write_json(folder, "config.json", &json)?;
    // Last: this file makes the folder a model.
    write(folder, MODEL, &content)
}

fn write_vocabulary(folder: &Path, side: &str, tokenizer: &Tokenizer) -> Result<(), ExportError> {
    let n_tokens = tokenizer.vocab_size() as u32;
    let tokens: Vec<Option<String>> = (0..n_tokens).map(|id| tokenizer.token(id)).collect();
    write_json(folder, &format!("{side}_vocabulary.json"), &json!(tokens))
}

fn values(
    model: &Transformer,
    config: &TransformerConfig,
) -> Result<BTreeMap<String, Value>, ExportError> {
    let target = |parameter| Names::CTranslate2.source(parameter, config);
    let weights = renamed(&StateDict::from_model(model), config, target);
    let n_heads = i16::try_from(config.n_heads).map_err(|_| ExportError::TooLarge {
        name: "n_heads".to_owned(),
        format: FORMAT,
    })?;
    let mut values = BTreeMap::new();
    let activation = match config.activation {
        Activation::Relu => 0,
        Activation::Silu => 2,
        Activation::Gelu => 3,
    };
    let is_pre = config.norm_placement == NormPlacement::Pre;
    for stack in Stack::BOTH {
        let mut add = |name: &str, value| values.insert(format!("{stack}/{name}"), value);
        add("activation", Value::Int8(activation));
        add("num_heads", Value::Int16(n_heads));
        add("pre_norm", Value::Int8(is_pre.into()));
        add(
            "scale_embeddings",
            Value::Int8(config.scale_embeddings.into()),
        );
    }
    // The default of `return_attention`: the first head of the last layer.
    for (name, value) in [("alignment_layer", -1), ("alignment_heads", 1)] {
        values.insert(format!("decoder/{name}"), Value::Int16(value));
    }
    for name in ["alibi", "alibi_use_positive_positions", "scale_alibi"] {
        values.insert(format!("decoder/{name}"), Value::Int8(0));
    }
    let start = "decoder/start_from_zero_embedding".to_owned();
    values.insert(start, Value::Int8(config.start_from_zeros.into()));
    for name in ["embeddings_merge", "multi_query_attention"] {
        values.insert(format!("encoder/{name}"), Value::Int8(0));
    }
    let shared: &[&str] = match config.tying {
        Tying::All => &[SRC_EMBEDDING, PROJECTION],
        Tying::Decoder => &[PROJECTION],
        Tying::None => &[],
    };
    let alias = |name: &&str| ((*name).to_owned(), Value::Alias(TGT_EMBEDDING));
    values.extend(shared.iter().map(alias));
    put_positions(&mut values, config)?;
    for name in weights.names() {
        let Some(tensor) = weights.tensor(name) else {
            continue;
        };
        let tensor = match name.ends_with("/encodings") {
            // CTranslate2 counts positions from 0.
            true => rows_from(config.first_position, tensor),
            false => tensor.clone(),
        };
        values.insert(name.to_owned(), Value::Tensor(tensor));
    }
    Ok(values)
}

/// Inserts a vector per position: sinusoids, or zeros for a model without positions. Learned ones are parameters.
fn put_positions(
    values: &mut BTreeMap<String, Value>,
    config: &TransformerConfig,
) -> Result<(), ExportError> {
    let shape = [config.max_positions.max(MIN_POSITIONS), config.d_model];
    // Checked before the table is computed.
    check_positions(shape, "max_positions", FORMAT)?;
    let table = match config.positions {
        Positions::Learned => return Ok(()),
        Positions::None => TensorData::zeros::<f32, _>(shape),
        sinusoidal => {
            let table = sinusoid_table(sinusoidal, config.first_position, shape[0], shape[1]);
            TensorData::new(table, shape)
        }
    };
    let src = Value::Alias(TGT_POSITIONS);
    values.insert(TGT_POSITIONS.replace("decoder", "encoder"), src);
    values.insert(TGT_POSITIONS.to_owned(), Value::Tensor(table));
    Ok(())
}

fn rows_from(first: usize, matrix: &TensorData) -> TensorData {
    let (n_rows, width) = (matrix.shape()[0], matrix.shape()[1]);
    let rows = matrix.iter::<f32>().skip(first * width);
    TensorData::new(rows.collect::<Vec<f32>>(), [n_rows - first, width])
}

fn serialize(values: &BTreeMap<String, Value>) -> Result<Vec<u8>, ExportError> {
    let too_large = |name: &str| ExportError::TooLarge {
        name: name.to_owned(),
        format: FORMAT,
    };
    let size = |name: &str, size: usize| u32::try_from(size).map_err(|_| too_large(name));
    let is_alias = |value: &Value| matches!(value, Value::Alias(_));
    let n_aliases = values.values().filter(|value| is_alias(value)).count();
    let mut file = Vec::new();
    file.extend(CONTAINER_VERSION.to_le_bytes());
    put_name(&mut file, SPEC);
    file.extend(SPEC_REVISION.to_le_bytes());
    file.extend(size("model", values.len() - n_aliases)?.to_le_bytes());
    for (name, value) in values {
        let (shape, kind, bytes) = match value {
            Value::Tensor(tensor) => {
                let bytes = tensor.iter::<f32>().flat_map(f32::to_le_bytes);
                (&tensor.shape()[..], 0_u8, bytes.collect())
            }
            Value::Int8(number) => (&[][..], 1, number.to_le_bytes().to_vec()),
            Value::Int16(number) => (&[][..], 2, number.to_le_bytes().to_vec()),
            Value::Alias(_) => continue,
        };
        put_name(&mut file, name);
        file.push(shape.len() as u8);
        for side in shape {
            file.extend(size(name, *side)?.to_le_bytes());
        }
        file.push(kind);
        file.extend(size(name, bytes.len())?.to_le_bytes());
        file.extend::<Vec<u8>>(bytes);
    }
    file.extend(size("model", n_aliases)?.to_le_bytes());
    for (name, value) in values {
        if let Value::Alias(target) = value {
            put_name(&mut file, name);
            put_name(&mut file, target);
        }
    }
    Ok(file)
}

/// Appends a name. The names of this module are short enough for its 16-bit length.
fn put_name(file: &mut Vec<u8>, name: &str) {
    file.extend((name.len() as u16 + 1).to_le_bytes());
    file.extend(name.as_bytes());
    file.push(0);
}
