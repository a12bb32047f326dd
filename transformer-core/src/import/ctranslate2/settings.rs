//! [`config`]: the settings in the variables, as our config, with the kind of positions in a table.

use super::CTranslate2Error as Error;
use super::container::Variables;
use crate::config::{
    Activation, NormKind, NormPlacement, Positions, Stack, TransformerConfig, Tying,
};
use crate::import::names::programs::{OUTPUT_BIAS, PROJECTION, SRC_EMBEDDING, TGT_EMBEDDING};
use crate::model::sinusoid_table;

/// Number of heads in files that do not have it, and for the old `TransformerBig`.
const N_HEADS: [f64; 2] = [8.0, 16.0];

const ACTIVATIONS: [&str; 7] = [
    "ReLU",
    "GELUTanh",
    "Swish",
    "GELU",
    "GELUSigmoid",
    "Tanh",
    "Sigmoid",
];

/// Scalars that are read here, or that do not change an encoder-decoder of this kind. All others must be 0.
const SCALARS: [&str; 15] = [
    "num_heads",
    "pre_norm",
    "activation",
    "scale_embeddings",
    "multiply_by_sqrt_depth",
    "start_from_zero_embedding",
    "alignment_layer",
    "alignment_heads",
    "embeddings_merge",
    "alibi_use_positive_positions",
    "scale_alibi",
    "with_source_bos",
    "with_source_eos",
    "with_target_bos",
    "weight_scale",
];

/// Parts of names that other architectures have, in words.
const UNSUPPORTED: [(&str, &str); 6] = [
    ("relative_", "absolute positions"),
    ("weight_zero", "integers with scales alone"),
    ("embeddings_1", "sources without features"),
    ("scale_outputs", "outputs without a scale"),
    ("project_", "stacks of one width"),
    ("_attention/q_norm", "attention without normalization"),
];

/// Returns the config; the sizes of the vocabularies are those of the file.
pub(super) fn config(
    variables: &Variables,
    norm_epsilon: Option<f64>,
) -> Result<TransformerConfig, Error> {
    check_supported(variables)?;
    let (n_src, _) = matrix(variables, SRC_EMBEDDING)?;
    let (n_tgt, d_model) = matrix(variables, TGT_EMBEDDING)?;
    let (d_ff, _) = matrix(variables, "encoder/layer_0/ffn/linear_0/weight")?;
    let default = N_HEADS[usize::from(variables.spec == "TransformerBig")];
    let n_heads = number(variables, "num_heads", default)?;
    let norm_placement = match number(variables, "pre_norm", 1.0)? != 0.0 {
        true => NormPlacement::Pre,
        false => NormPlacement::Post,
    };
    let activation = match number(variables, "activation", 0.0)? {
        0.0 => Activation::Relu,
        2.0 => Activation::Silu,
        3.0 => Activation::Gelu,
        other => {
            let found = ACTIVATIONS.get(other.max(0.0) as usize);
            let found = format!("{other} ({})", found.unwrap_or(&"unknown"));
            let expected = "0 (ReLU), 2 (Swish) or 3 (GELU)";
            return Err(Error::setting("encoder/activation", &found, expected));
        }
    };
    let positions = recognize(variables, d_model)?;
    let [n_encoder_layers, n_decoder_layers] = Stack::BOTH.map(|stack| n_layers(variables, stack));
    let src_scaled = is_scaled(variables, Stack::Encoder, d_model)?;
    let tgt_scaled = is_scaled(variables, Stack::Decoder, d_model)?;
    let has = |name: &str| variables.get(name).is_some();
    // CTranslate2 takes a norm without offset for RMSNorm, which has another default.
    let (norm_kind, default_epsilon) = match has("encoder/layer_0/ffn/layer_norm/beta") {
        true => (NormKind::Layer, 1e-5),
        false => (NormKind::Rms, 1e-6),
    };
    let base = TransformerConfig::base(n_src, n_tgt);
    let config = TransformerConfig {
        d_model,
        d_ff,
        n_heads: n_heads.max(0.0) as usize,
        n_encoder_layers,
        n_decoder_layers,
        norm_placement,
        final_norm: has("encoder/layer_norm/gamma") || has("decoder/layer_norm/gamma"),
        norm_kind,
        norm_epsilon: norm_epsilon.unwrap_or(default_epsilon),
        positions: positions.kind,
        first_position: positions.first,
        max_positions: positions.max.unwrap_or(base.max_positions),
        activation,
        gated_feed_forward: has("encoder/layer_0/ffn/linear_0_noact/weight"),
        attention_bias: has("encoder/layer_0/self_attention/linear_0/bias"),
        tying: tying(variables)?,
        output_bias: has(OUTPUT_BIAS),
        embedding_norm: has("encoder/layernorm_embedding/gamma"),
        scale_embeddings: shared("scale_embeddings", [src_scaled, tgt_scaled])?,
        ..base
    };
    config.validate()?;
    Ok(config)
}

/// Refuses architectures that the config cannot express.
fn check_supported(variables: &Variables) -> Result<(), Error> {
    for name in variables.names() {
        let part = UNSUPPORTED.iter().find(|(part, _)| name.contains(part));
        let number = variables.get(name).filter(|it| it.is_scalar());
        let number = number.and_then(|_| variables.number(name));
        let last = name.rsplit('/').next().unwrap_or(name);
        match (part, number) {
            (Some((_, expected)), _) => return Err(Error::setting(name, &"present", expected)),
            (None, Some(number)) if number != 0.0 && !SCALARS.contains(&last) => {
                return Err(Error::setting(name, &number, "0"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn matrix(variables: &Variables, name: &str) -> Result<(usize, usize), Error> {
    match variables.get(name).map(|it| &it.shape[..]) {
        Some(&[n_rows, n_columns]) => Ok((n_rows, n_columns)),
        _ => Err(Error::missing(name)),
    }
}

fn n_layers(variables: &Variables, stack: Stack) -> usize {
    let prefix = format!("{stack}/layer_");
    let layers = variables.names().filter_map(|name| {
        let (layer, _) = name.strip_prefix(&prefix)?.split_once('/')?;
        layer.parse::<usize>().ok()
    });
    layers.max().map_or(0, |last| last.saturating_add(1))
}

/// Returns a number of both stacks. Old files have it once.
fn number(variables: &Variables, key: &str, default: f64) -> Result<f64, Error> {
    let number = |stack| {
        let number = variables.number(&format!("{stack}/{key}"));
        number.or_else(|| variables.number(key)).unwrap_or(default)
    };
    shared(key, Stack::BOTH.map(number))
}

/// Returns the value of both stacks, which must be the same.
fn shared<T: PartialEq + ToString>(key: &str, [encoder, decoder]: [T; 2]) -> Result<T, Error> {
    match encoder == decoder {
        true => Ok(encoder),
        false => {
            let key = format!("decoder/{key}");
            Err(Error::setting(&key, &decoder, "only the encoder's value"))
        }
    }
}

/// Returns whether the embeddings of a stack are multiplied by `√d_model`, which is the default.
fn is_scaled(variables: &Variables, stack: Stack, d_model: usize) -> Result<bool, Error> {
    let key = format!("{stack}/scale_embeddings");
    let embeddings = match stack {
        Stack::Encoder => "embeddings_0",
        Stack::Decoder => "embeddings",
    };
    let old = format!("{stack}/{embeddings}/multiply_by_sqrt_depth");
    let Some(variable) = variables.get(&key).or_else(|| variables.get(&old)) else {
        return Ok(true);
    };
    let number = variable.number().unwrap_or(f64::NAN);
    // A flag of one byte, or a factor, which may be in half precision.
    let is = |factor: f64| (number / factor - 1.0).abs() < 5e-3;
    match variable.n_bytes() {
        1 => Ok(number != 0.0),
        _ if is((d_model as f64).sqrt()) => Ok(true),
        _ if is(1.0) => Ok(false),
        _ => {
            let expected = "1 or the square root of the width";
            Err(Error::setting(&key, &number, expected))
        }
    }
}

/// Returns which vocabulary matrices are one: by aliases, or by equal values in files without them.
fn tying(variables: &Variables) -> Result<Tying, Error> {
    let of = |name: &str| match variables.get(name) {
        Some(variable) => {
            let scale = format!("{}_scale", variables.variable_of(name));
            Ok((variable, variables.get(&scale)))
        }
        None => Err(Error::missing(name)),
    };
    let [src, tgt, output] = [of(SRC_EMBEDDING)?, of(TGT_EMBEDDING)?, of(PROJECTION)?];
    Ok(match (src == tgt, output == tgt) {
        (true, true) => Tying::All,
        (false, true) => Tying::Decoder,
        (_, false) => Tying::None,
    })
}

/// Maximum difference between a stored sinusoid and ours at the first positions, and its growth with the position:
/// converters compute angles in single precision.
const TOLERANCE: [f32; 2] = [1e-5, 2e-6];

pub(super) struct Recognized {
    pub(super) kind: Positions,
    /// Position of the first token.
    pub(super) first: usize,
    /// Number of learned positions.
    pub(super) max: Option<usize>,
}

/// Returns the kind of positions: sinusoids if the tables of both stacks are near those of one kind, none if they are
/// zeros, and learned positions otherwise. Models without tables have the sinusoids of OpenNMT-tf.
pub(super) fn recognize(variables: &Variables, d_model: usize) -> Result<Recognized, Error> {
    let names = Stack::BOTH.map(|stack| format!("{stack}/position_encodings/encodings"));
    let tables = match [0, 1].map(|side| variables.get(&names[side])) {
        [None, None] => {
            return Ok(Recognized {
                kind: Positions::SinusoidalHalvesInclusive,
                first: 1,
                max: None,
            });
        }
        [Some(src), Some(tgt)] => [src, tgt],
        [None, _] => return Err(Error::missing(&names[0])),
        [_, None] => return Err(Error::missing(&names[1])),
    };
    let [src, tgt] = tables.map(|table| &table.shape[..]);
    let &[n_rows, width] = tgt else {
        return Err(Error::missing(&names[1]));
    };
    if src != tgt || width != d_model || n_rows == 0 {
        return Err(Error::missing(&names[0]));
    }
    let values = |name: &String| -> Result<Vec<f32>, Error> {
        Ok(variables.tensor(name)?.iter::<f32>().collect())
    };
    let (table, epsilon) = (values(&names[1])?, tables[1].epsilon());
    let is_one = tables[0] == tables[1] || values(&names[0])? == table;
    let learned = Recognized {
        kind: Positions::Learned,
        first: 0,
        max: Some(n_rows),
    };
    if !is_one {
        return Ok(learned);
    }
    if table.iter().all(|value| *value == 0.0) {
        return Ok(Recognized {
            kind: Positions::None,
            first: 0,
            max: None,
        });
    }
    let found = sinusoids(&table, d_model, epsilon);
    Ok(found.map_or(learned, |(kind, first)| Recognized {
        kind,
        first,
        max: None,
    }))
}

/// Returns the kind of sinusoids in a table, and the position of its first row.
fn sinusoids(table: &[f32], d_model: usize, epsilon: f32) -> Option<(Positions, usize)> {
    let n_rows = table.len() / d_model;
    if !d_model.is_multiple_of(2) || n_rows > usize::from(u16::MAX) {
        return None;
    }
    let is_near = |kind: Positions, first: usize, n_rows: usize| {
        let ours = sinusoid_table(kind, first, n_rows, d_model);
        let mut rows = (0..).zip(ours.chunks(d_model).zip(table.chunks(d_model)));
        rows.all(|(row, (ours, theirs)): (u16, _)| {
            let tolerance = TOLERANCE[0] + TOLERANCE[1] * f32::from(row) + epsilon;
            let mut pairs = ours.iter().zip(theirs);
            pairs.all(|(a, b)| (a - b).abs() <= tolerance)
        })
    };
    let kinds = [
        Positions::Sinusoidal,
        Positions::SinusoidalHalves,
        Positions::SinusoidalHalvesInclusive,
    ];
    let mut all = kinds
        .into_iter()
        .flat_map(|kind| [0, 1, 2].map(|first| (kind, first)));
    // A few rows decide most.
    all.find(|&(kind, first)| is_near(kind, first, n_rows.min(3)) && is_near(kind, first, n_rows))
}
