//! [`to_bergamot`]: exports a model for Firefox Translations and Bergamot (<https://browser.mt>).
//!
//! The model is in Marian's binary format, with matrices of 8-bit integers and a fixed scale for the input of each. The
//! readers of these files are in [`import`](crate::import::marian::binary).

use std::collections::BTreeMap;
use std::path::Path;

use burn::tensor::TensorData;
use serde_json::{Value, json};

use super::ExportError;
use super::files::{create, remove, write};
use super::state_dict::renamed;
use crate::config::{Mixing, Place, TransformerConfig, Tying};
use crate::directory::{ModelDirectory, Tokenizers};
use crate::import::marian::Generation;
use crate::import::marian::binary::container::{
    ALPHA, Array, Content, SETTINGS, is_matrix, is_vocabulary, write_container,
};
use crate::import::marian::binary::reorder;
use crate::import::marian::binary::settings::Settings;
use crate::import::{Names, StateDict};
use crate::model::Transformer;
use crate::packed::{ComputePrecision, PackedTransformer};
use crate::text::sentencepiece::SentencePiece;
use crate::text::{BOS, EOS, N_SPECIAL, Tokenizer, UNK};

const FORMAT: &str = "Bergamot's models";

/// Keys of a config that change no translation, or have another place in the format.
const IGNORED: [&str; 9] = [
    "src_vocab_size",
    "tgt_vocab_size",
    "max_positions",
    "output_bias",
    "start_from_zeros",
    "dropout",
    "attention_dropout",
    "activation_dropout",
    "initialization",
];

/// The widths of matrices are multiples of this, as the products of 8-bit integers need it.
const WIDTH_STEP: usize = 64;

/// The number of target tokens is a multiple of this, as the products with the output matrix need it.
const VOCABULARY_STEP: usize = 8;

/// Maximum number of tokens of a calibration line; the rest is cut off, as in translation.
const MAX_SRC_LEN: usize = 1024;

const MAX_INTEGER: f32 = 127.0;

/// Maximum length of a translation from which scales are learned, for each source token.
const MAX_LENGTH_FACTOR: f64 = 2.5;

struct Vocabulary {
    model: SentencePiece,
    /// Our id of each piece.
    rows: Vec<Option<u32>>,
}

/// Writes a model as Firefox Translations has it: `model.*.intgemm.alphas.bin`, `vocab.*.spm` or `srcvocab.*.spm` and
/// `trgvocab.*.spm`, `config.intgemm8bitalpha.yml`, and, if the model has a shortlist, `lex.*.s2t.bin`.
///
/// The scales of inputs are learned from translations of `lines`, which should be like the text to translate. An
/// imported model keeps its integers. Of `generation`, the beam size, the length penalty and `max_len_factor` are
/// written.
///
/// # Errors
///
/// Returns an [`ExportError`] if the format has no place for a setting or for the vocabulary, if there is no line, if a
/// weight or an activation is not finite, if a file cannot be written, or if the folder is a model directory.
pub fn to_bergamot(
    folder: impl AsRef<Path>,
    directory: &ModelDirectory,
    model: &Transformer,
    generation: &Generation,
    lines: &[String],
) -> Result<(), ExportError> {
    let folder = folder.as_ref();
    let (config, tokenizers) = (directory.config(), directory.tokenizers());
    let (src, tgt) = (vocabulary(tokenizers.src())?, vocabulary(tokenizers.tgt())?);
    let settings = Settings::text_of(config, src.rows.len(), tgt.rows.len());
    let weights = StateDict::from_model(model);
    check(config, &settings, &weights)?;
    check_size(tgt.rows.len())?;
    let weights = renumbered(&weights, config, &src, &tgt);
    if let Some(name) = weights.names().find(|name| !is_finite(&weights, name)) {
        return Err(ExportError::Infinite {
            name: name.to_owned(),
        });
    }
    let alphas = alphas(model, &tokenizers.src().encode_all(lines))?;
    let content = write_container(&arrays(&weights, &alphas, settings));
    let pair = pair(directory);
    create(folder)?;
    let model_name = format!("model.{pair}intgemm.alphas.bin");
    remove(folder, &model_name)?;
    // Files of another model may have the other layout.
    for side in ["vocab", "srcvocab", "trgvocab"] {
        remove(folder, &format!("{side}.{pair}spm"))?;
    }
    let vocabularies = match tokenizers {
        Tokenizers::Joint(_) => vec![(format!("vocab.{pair}spm"), &src)],
        Tokenizers::Separate { .. } => vec![
            (format!("srcvocab.{pair}spm"), &src),
            (format!("trgvocab.{pair}spm"), &tgt),
        ],
    };
    for (name, vocabulary) in &vocabularies {
        write(folder, name, vocabulary.model.file())?;
    }
    let lists = format!("lex.{pair}s2t.bin");
    let shortlist = directory.shortlist();
    match shortlist {
        Some(shortlist) => {
            let shortlist = shortlist.renumbered(&src.rows, &tgt.rows);
            write(folder, &lists, &shortlist.to_bytes())?;
        }
        None => remove(folder, &lists)?,
    }
    let [src_name, tgt_name] = [0, vocabularies.len() - 1].map(|side| &vocabularies[side].0);
    let lists = shortlist.map_or(String::new(), |_| {
        format!("shortlist:\n  - {lists}\n  - false\n")
    });
    let search = format!(
        "relative-paths: true\nmodels:\n  - {model_name}\nvocabs:\n  - {src_name}\n  - {tgt_name}\n{lists}beam-size: {}\n\
         normalize: {}\nword-penalty: 0\nmax-length-factor: {}\ngemm-precision: int8shiftAlphaAll\n",
        generation.num_beams.unwrap_or(1),
        generation.length_penalty,
        generation.max_len_factor.unwrap_or(MAX_LENGTH_FACTOR),
    );
    write(folder, "config.intgemm8bitalpha.yml", search.as_bytes())?;
    // Last: this file makes the folder a model.
    write(folder, &model_name, &content)
}

fn renumbered(
    weights: &StateDict,
    config: &TransformerConfig,
    src: &Vocabulary,
    tgt: &Vocabulary,
) -> StateDict {
    let target = |parameter| Names::MarianBinary.source(parameter, config);
    let mut weights = renamed(weights, config, target);
    if !config.output_bias {
        let name = target(Place::OutputBias).map(|(name, _)| name);
        let zeros = TensorData::zeros::<f32, _>([config.tgt_vocab_size]);
        weights.insert(name.unwrap_or_default(), zeros);
    }
    let (n_src, n_tgt) = (config.src_vocab_size, config.tgt_vocab_size);
    for (name, rows, n_rows) in [
        ("Wemb", &tgt.rows, n_tgt),
        ("encoder_Wemb", &src.rows, n_src),
        ("decoder_Wemb", &tgt.rows, n_tgt),
        ("decoder_ff_logit_out_b", &tgt.rows, n_tgt),
    ] {
        reorder(&mut weights, name, rows, n_rows, 0.0);
    }
    weights
}

/// Refuses a target vocabulary of a size that the engines' products cannot have.
fn check_size(found: usize) -> Result<(), ExportError> {
    match found % VOCABULARY_STEP {
        0 => Ok(()),
        _ => Err(ExportError::VocabularySize {
            found,
            format: FORMAT,
            step: VOCABULARY_STEP,
            fitting: found.next_multiple_of(VOCABULARY_STEP) + N_SPECIAL - 2,
        }),
    }
}

fn is_finite(weights: &StateDict, name: &str) -> bool {
    let tensor = weights.tensor(name);
    tensor.is_some_and(|tensor| tensor.iter::<f32>().all(f32::is_finite))
}

/// Returns the languages for names of files, such as `ende.`; empty if they are not two codes of two letters.
fn pair(directory: &ModelDirectory) -> String {
    let languages = directory.languages();
    let codes = [&languages.src, &languages.tgt].map(|code| code.as_ref().map(ToString::to_string));
    match codes {
        [Some(src), Some(tgt)] if src.len() == 2 && tgt.len() == 2 => format!("{src}{tgt}."),
        _ => String::new(),
    }
}

/// Returns the SentencePiece model of a tokenizer, which an imported model has, and others may be expressed as.
fn vocabulary(tokenizer: &Tokenizer) -> Result<Vocabulary, ExportError> {
    let Some(pieces) = tokenizer.pieces() else {
        let model = tokenizer.to_sentencepiece();
        let model = model.ok_or(ExportError::Vocabulary { format: FORMAT })?;
        let ordinary = (N_SPECIAL as u32..).take(tokenizer.vocab_size() - N_SPECIAL);
        let rows = [EOS, UNK].into_iter().chain(ordinary).map(Some).collect();
        return Ok(Vocabulary { model, rows });
    };
    let model = pieces.model();
    let texts = model.pieces();
    let start = pieces.special().start as usize;
    if pieces.tokens()[..start] != texts || pieces.tokens().len() != start + 1 {
        return Err(ExportError::Vocabulary { format: FORMAT });
    }
    let mut rows = vec![None; texts.len()];
    for (ours, theirs) in (0..).zip(pieces.rows()) {
        if let Some(row) = theirs.and_then(|it| rows.get_mut(it as usize)) {
            *row = Some(ours);
        }
    }
    Ok(Vocabulary {
        model: model.clone(),
        rows,
    })
}

/// Refuses a config that is not the one that is read from its settings in the format.
fn check(
    config: &TransformerConfig,
    settings: &str,
    weights: &StateDict,
) -> Result<(), ExportError> {
    let refused = |key: &str, found: String, expected: String| ExportError::Setting {
        key: key.to_owned(),
        found,
        format: FORMAT,
        expected,
    };
    for (key, found) in [("d_model", config.d_model), ("d_ff", config.d_ff)] {
        if found % WIDTH_STEP != 0 {
            let expected = format!("multiples of {WIDTH_STEP}");
            return Err(refused(key, found.to_string(), expected));
        }
    }
    let read = Settings::parse(settings);
    let (n_src, n_tgt) = (config.src_vocab_size, config.tgt_vocab_size);
    let read = read.and_then(|read| read.config(n_src, n_tgt));
    let read = read.map_or(Value::Null, |config| json!(config));
    let ours = json!(config);
    let (Some(ours), Some(read)) = (ours.as_object(), read.as_object()) else {
        return Err(refused(
            "type",
            "unknown".to_owned(),
            "a transformer".to_owned(),
        ));
    };
    let mut keys = ours.keys().chain(read.keys());
    let differs =
        |key: &&String| !IGNORED.contains(&key.as_str()) && ours.get(*key) != read.get(*key);
    if let Some(key) = keys.find(differs) {
        let value = |config: &serde_json::Map<String, Value>| {
            config
                .get(key)
                .map_or("the default".to_owned(), Value::to_string)
        };
        return Err(refused(key, value(ours), value(read)));
    }
    let is_zero = |place: Place| {
        let tensor = weights.tensor(&place.to_string());
        let row = tensor.map(|it| it.iter::<f32>().skip(BOS as usize * config.d_model));
        row.is_some_and(|row| row.take(config.d_model).all(|value| value == 0.0))
    };
    let embedding = match config.tying {
        Tying::All => Place::SrcVocabulary,
        Tying::Decoder | Tying::None => Place::TgtVocabulary,
    };
    match config.start_from_zeros || is_zero(embedding) {
        true => Ok(()),
        false => Err(refused(
            "start_from_zeros",
            "false".to_owned(),
            "true".to_owned(),
        )),
    }
}

/// Learns the factor for the input of each matrix: its largest magnitude, in the mean over sentences and steps and with
/// 1.1 standard deviations more, becomes 127. Rare larger values are cut off, so that others are rounded less.
fn alphas(model: &Transformer, sources: &[Vec<u32>]) -> Result<BTreeMap<String, f32>, ExportError> {
    let config = model.config();
    let packed = PackedTransformer::of(model, ComputePrecision::F32);
    let names = [encoding_inputs(config), decoding_inputs(config)];
    let mut largest: [Vec<Vec<f64>>; 2] =
        names.each_ref().map(|names| vec![Vec::new(); names.len()]);
    for source in sources.iter().filter(|source| !source.is_empty()) {
        let mut source = source[..source.len().min(MAX_SRC_LEN)].to_vec();
        config.end_source(&mut source);
        let max_len = (source.len() as f64 * MAX_LENGTH_FACTOR) as usize;
        for (step, found) in packed
            .largest_inputs(&source, max_len)
            .into_iter()
            .enumerate()
        {
            let inputs = &mut largest[usize::from(step > 0)];
            assert_eq!(inputs.len(), found.len(), "each product has its matrices");
            inputs
                .iter_mut()
                .zip(found)
                .for_each(|(all, it)| all.push(it.into()));
        }
    }
    let mut alphas = BTreeMap::new();
    for (names, largest) in names
        .into_iter()
        .flatten()
        .zip(largest.into_iter().flatten())
    {
        if largest.is_empty() {
            return Err(ExportError::Calibration);
        }
        let n = largest.len() as f64;
        let mean = largest.iter().sum::<f64>() / n;
        let variance = largest.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / n;
        let alpha = (f64::from(MAX_INTEGER) / (mean + 1.1 * variance.sqrt())) as f32;
        if !alpha.is_normal() {
            let name = names.into_iter().next().unwrap_or_default();
            return Err(ExportError::Scale { name, alpha });
        }
        alphas.extend(names.into_iter().map(|name| (name, alpha)));
    }
    Ok(alphas)
}

/// Returns the matrices of each product before the first target token.
fn encoding_inputs(config: &TransformerConfig) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for layer in 1..=config.n_encoder_layers {
        let name = |part: &str| format!("encoder_l{layer}_{part}");
        all.push(["self_Wq", "self_Wk", "self_Wv"].map(name).to_vec());
        all.extend(["self_Wo", "ffn_W1", "ffn_W2"].map(|part| vec![name(part)]));
    }
    let memory = |layer| ["Wk", "Wv"].map(|part| format!("decoder_l{layer}_context_{part}"));
    all.extend((1..=config.n_decoder_layers).map(|layer| memory(layer).to_vec()));
    all
}

/// Returns the matrices of each product of a target token.
fn decoding_inputs(config: &TransformerConfig) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for layer in 1..=config.n_decoder_layers {
        let name = |part: &str| format!("decoder_l{layer}_{part}");
        match config.decoder_mixing {
            Mixing::Ssru => all.push(["rnn_W", "rnn_Wf"].map(name).to_vec()),
            Mixing::SelfAttention => {
                all.push(["self_Wq", "self_Wk", "self_Wv"].map(name).to_vec());
                all.push(vec![name("self_Wo")]);
            }
        }
        all.extend(["context_Wq", "context_Wo", "ffn_W1", "ffn_W2"].map(|part| vec![name(part)]));
    }
    all.push(vec!["none".to_owned()]);
    all
}

/// Returns the arrays of the file, in the order of their names.
fn arrays(weights: &StateDict, alphas: &BTreeMap<String, f32>, settings: String) -> Vec<Array> {
    let scalar = |name: &str, content| Array {
        name: format!("{name}{ALPHA}"),
        shape: vec![1, 1],
        content,
    };
    let mut arrays: Vec<Array> = alphas
        .iter()
        .map(|(name, alpha)| scalar(name, Content::Floats(vec![*alpha])))
        .collect();
    for name in weights.names() {
        let Some(tensor) = weights.tensor(name) else {
            continue;
        };
        let values: Vec<f32> = tensor.iter::<f32>().collect();
        let shape = match tensor.shape()[..] {
            [n_rows, n_columns] => [n_rows, n_columns],
            _ => [1, values.len()],
        };
        let content = match is_matrix(name) {
            true => integers(&values, shape[0], !is_vocabulary(name)),
            false => Content::Floats(values),
        };
        // The output matrix has the factor of its input in a form of its own.
        if let (true, Some(alpha)) = (
            is_vocabulary(name) && name != "encoder_Wemb",
            alphas.get("none"),
        ) {
            let factor = MAX_INTEGER / alpha;
            arrays.push(scalar(name, Content::Integers(vec![127], factor)));
        }
        arrays.push(Array {
            name: name.to_owned(),
            shape: shape.map(|len| len as i32).to_vec(),
            content,
        });
    }
    let shape = vec![settings.len() as i32 + 1];
    arrays.push(Array {
        name: SETTINGS.to_owned(),
        shape,
        content: Content::Text(settings),
    });
    arrays.sort_by(|a, b| a.name.cmp(&b.name));
    arrays
}

/// Rounds a matrix of `n_rows` rows to integers, with one factor for all values. The factor by which integers became
/// these floats is found again, if it is among the next numbers.
fn integers(values: &[f32], n_rows: usize, is_transposed: bool) -> Content {
    let largest = values
        .iter()
        .fold(f32::MIN_POSITIVE, |largest, it| largest.max(it.abs()));
    let factor = MAX_INTEGER / largest;
    let round = |value: f32, factor: f32| (value * factor).round_ties_even();
    let is_exact = |factor: &f32| {
        values
            .iter()
            .all(|value| round(*value, *factor) / factor == *value)
    };
    let near = [factor, factor.next_down(), factor.next_up()];
    let factor = near.into_iter().find(is_exact).unwrap_or(factor);
    let integers = values.iter().map(|value| round(*value, factor) as i8);
    let integers: Vec<i8> = integers.collect();
    let integers = match is_transposed {
        true => {
            let n_columns = values.len() / n_rows.max(1);
            let column = |first: usize| integers[first..].iter().step_by(n_columns).copied();
            (0..n_columns).flat_map(column).collect()
        }
        false => integers,
    };
    Content::Integers(integers, factor)
}
