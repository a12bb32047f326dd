//! [`to_marian`]: a model of ours as Hugging Face's Transformers keeps Marian's.

use std::path::Path;

use burn::tensor::TensorData;
use serde_json::{Value, json};

use super::files::{create, remove, write, write_json, write_tokenizers};
use super::{Check, ExportError, refuse_misfits, turned};
use crate::config::{Activation, NormPlacement, Positions, TransformerConfig, Tying};
use crate::directory::Tokenizers;
use crate::import::marian::vocabulary::rows;
use crate::import::marian::weights::{BIAS, OUTPUT, SHARED, SRC, TGT};
use crate::import::marian::{EarlyStopping, Generation};
use crate::import::names::Form;
use crate::import::{Names, StateDict};
use crate::model::Transformer;
use crate::text::sentencepiece::SpecialIds;
use crate::text::{BOS, EOS, PAD, UNK};

/// The only epsilon of layer normalization that Marian's models have in Transformers.
const NORM_EPSILON: f64 = 1e-5;

/// Fewest places that a model has in Transformers: those of OPUS-MT's.
const FEWEST_PLACES: usize = 512;

/// Writes `config.json`, `generation_config.json`, `model.safetensors` and the tokenizers into a folder.
///
/// Tokenizers that were imported come out as they came in: `vocab.json`, `source.spm`, `target.spm`. Others
/// are the `tokenizer.json` that they are, or two of them. Ids are again what they were before an import,
/// and those of a model that was trained here stay.
///
/// # Errors
///
/// Returns an [`ExportError`] that names a setting which Marian's models cannot have, or a file that cannot
/// be written, or if the folder is a model directory.
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
    // Without it there is no model, neither this one nor one that is replaced.
    remove(folder, "config.json")?;
    let (src, tgt) = (rows(tokenizers.src()), rows(tokenizers.tgt()));
    let sizes = (src.iter().flatten().count(), tgt.iter().flatten().count());
    let special = special(tokenizers);
    let weights = weights(model, config, &src, &tgt)?;
    write(folder, "model.safetensors", &weights)?;
    write_tokenizers(folder, tokenizers)?;
    // What was imported keeps the list that it has; there `<unk>` may be written.
    let unk = tokenizers.tgt().pieces().is_none().then_some(special.unk);
    let never = [special.pad, special.start].into_iter().chain(unk);
    let json = generation_json(generation, special, never.collect());
    write_json(folder, "generation_config.json", &json)?;
    // The file that makes the folder a model comes last.
    write_json(
        folder,
        "config.json",
        &config_json(config, sizes, generation, special),
    )
}

/// Refuses what `MarianMTModel` computes otherwise.
fn check(config: &TransformerConfig) -> Result<(), ExportError> {
    let own = [
        Check {
            key: "norm_placement",
            fits: config.norm_placement == NormPlacement::Post,
            found: "pre".to_owned(),
            expected: "post",
        },
        Check {
            key: "final_norm",
            fits: !config.final_norm,
            found: "true".to_owned(),
            expected: "false",
        },
        Check {
            key: "norm_epsilon",
            fits: config.norm_epsilon == NORM_EPSILON,
            found: config.norm_epsilon.to_string(),
            expected: "0.00001",
        },
        Check {
            key: "positions",
            fits: config.positions == Positions::SinusoidalHalves,
            found: json!(config.positions).to_string(),
            expected: "sinusoidal_halves",
        },
        Check {
            key: "attention_bias",
            fits: config.attention_bias,
            found: "false".to_owned(),
            expected: "true",
        },
    ];
    refuse_misfits(
        "Marian's models",
        own.into_iter().chain(Check::of_attention(config)),
    )
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
            (Form::Linear, &[_, _]) => turned(data),
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
    generation: &Generation,
    special: SpecialIds,
) -> Value {
    let activation = match config.activation {
        Activation::Silu => "swish",
        Activation::Relu => "relu",
        Activation::Gelu => "gelu",
    };
    // The token that decoding starts from takes a place.
    let n_places = generation
        .max_len
        .map_or(0, |len| len + 1)
        .max(FEWEST_PLACES);
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
        // Sinusoids are computed for any place here; there they are a table, which must reach the longest output.
        "max_position_embeddings": config.max_positions.max(n_places),
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
        "pad_token_id": special.pad,
        "eos_token_id": special.eos,
        "bos_token_id": special.start,
        "decoder_start_token_id": special.start,
        // Not to name it means Marian's own number there.
        "forced_eos_token_id": generation.forces_end.then_some(special.eos),
        "torch_dtype": "float32",
    })
}

/// Writes down how to search; `never` are the tokens that ours never writes.
fn generation_json(generation: &Generation, special: SpecialIds, never: Vec<u32>) -> Value {
    let mut banned = generation.banned.clone();
    for id in never {
        if !banned.contains(&vec![id]) {
            banned.push(vec![id]);
        }
    }
    json!({
        "num_beams": generation.num_beams,
        // The token that decoding starts from counts there.
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
