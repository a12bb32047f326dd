//! [`read`]: imports a model with its vocabularies.

use std::io;
use std::path::{Path, PathBuf};

use burn::tensor::TensorData;

use super::CTranslate2Error;
use super::container::{Variable, Variables, damaged};
use super::package::Package;
use super::settings;
use super::vocabulary::{Start, TokenSettings, Vocabularies};
use crate::ComputePrecision;
use crate::config::{Positions, TransformerConfig, Tying};
use crate::directory::StoredTensors;
use crate::import::marian::binary::reorder;
use crate::import::marian::weights::IMPOSSIBLE;
use crate::import::marian::{EarlyStopping, Generation};
use crate::import::names::programs::{OUTPUT_BIAS, PROJECTION, SRC_EMBEDDING, TGT_EMBEDDING};
use crate::import::{ImportError, Marian, MarianError, Misfit, Names, StateDict};
use crate::text::{BOS, EOS};

const MODEL: &str = "model.bin";

/// Reads a folder, a package, or the folder of a `model.bin`. Without SentencePiece models in it, `pieces` are those of
/// both sides, or of source and target.
pub(in super::super) fn read<M>(
    path: &Path,
    pieces: &[PathBuf],
    build: impl FnOnce(&TransformerConfig, StoredTensors, ComputePrecision) -> M,
) -> Result<Marian<M>, MarianError> {
    let package = Package::open(path)?;
    let argos = package.argos_languages()?;
    let model = package.of_model(MODEL);
    let of_model = |source| package.refuse(&model, source);
    let variables = variables(&package, &model)?;
    let tokens = TokenSettings::read(&package, &variables)?;
    let mut config = settings::config(&variables, tokens.layer_norm_epsilon).map_err(of_model)?;
    let starts_from_zero = variables
        .number("decoder/start_from_zero_embedding")
        .is_some_and(|flag| flag != 0.0);
    let start = tokens.decoder_start(starts_from_zero);
    let n_rows = [config.src_vocab_size, config.tgt_vocab_size];
    let Vocabularies {
        tokenizers,
        mut files,
        rows: [src, tgt],
    } = Vocabularies::read(&package, pieces, &tokens, n_rows, start)?;
    config.src_vocab_size = src.len();
    config.tgt_vocab_size = tgt.len();
    config.src_without_eos = !tokens.ends_sources(start);
    let precision = variables.precision();
    let mut dict = dict(variables, &config).map_err(of_model)?;
    let is_known = |row: &Option<u32>| row.is_some_and(|row| (row as usize) < n_rows[1]);
    let has_own_start = start == Start::Token && tgt.iter().all(is_known);
    if !has_own_start && !config.output_bias {
        config.output_bias = true;
        dict.insert(OUTPUT_BIAS, TensorData::zeros::<f32, _>([n_rows[1]]));
    }
    if config.tying == Tying::All {
        let check = tokenizers.check_tying(&config);
        check.map_err(|error| of_model(error.into()))?;
    }
    reorder(&mut dict, SRC_EMBEDDING, &src, n_rows[0], 0.0);
    reorder(&mut dict, TGT_EMBEDDING, &tgt, n_rows[1], 0.0);
    reorder(&mut dict, PROJECTION, &tgt, n_rows[1], 0.0);
    reorder(&mut dict, OUTPUT_BIAS, &tgt, n_rows[1], IMPOSSIBLE);
    if start != Start::Token {
        replace_start(&mut dict, start);
    }
    let tensors = dict.into_tensors(&config, &Names::CTranslate2);
    let tensors = tensors.map_err(|error| of_model(refusal(error)))?;
    let transformer = build(&config, tensors, precision);
    files.insert(0, model.clone());
    Ok(Marian {
        kind: "CTranslate2",
        config,
        tokenizers,
        generation: generation(argos.is_some()),
        languages: argos.unwrap_or_default(),
        model: transformer,
        shortlist: None,
        weights: package.path(&model),
        files,
    })
}

fn variables(package: &Package, model: &str) -> Result<Variables, MarianError> {
    let unreadable = |source| MarianError::Read {
        path: package.path(model),
        source,
    };
    let variables = package.read_with(model, |file| {
        let variables = Variables::read(&mut *file);
        // The end of an archive's file has its checksum, of which an error says more.
        variables.map_err(|error| match io::copy(file, &mut io::sink()) {
            Ok(_) => package.refuse(model, error),
            Err(source) => unreadable(source),
        })
    })?;
    variables.ok_or_else(|| unreadable(io::ErrorKind::NotFound.into()))
}

fn generation(is_argos: bool) -> Generation {
    let (num_beams, length_penalty) = match is_argos {
        true => (4, 0.2),
        false => (2, 1.0),
    };
    Generation {
        num_beams: Some(num_beams),
        max_len: Some(256),
        // Its minimum of one token does not count the end.
        min_len: 2,
        length_penalty,
        // With a length penalty, it stops after as many hypotheses as beams.
        early_stopping: EarlyStopping::Early,
        ..Generation::default()
    }
}

/// Returns the tensors of the model: tied matrices once, and positions only if they are learned.
fn dict(
    mut variables: Variables,
    config: &TransformerConfig,
) -> Result<StateDict, CTranslate2Error> {
    let is_needed = |name: &&str| {
        let Some(variable) = variables.get(name) else {
            return false;
        };
        let is_tied = match config.tying {
            Tying::All => [SRC_EMBEDDING, PROJECTION].contains(name),
            Tying::Decoder => *name == PROJECTION,
            Tying::None => false,
        };
        let is_computed = config.positions != Positions::Learned
            && name.ends_with("position_encodings/encodings");
        let is_scale = name
            .strip_suffix("_scale")
            .is_some_and(|name| variables.get(name).is_some());
        let is_setting = variable.is_scalar() || !name.contains('/');
        !(is_tied || is_computed || is_scale || is_setting)
    };
    let names = variables.names().filter(is_needed).map(str::to_owned);
    let mut names: Vec<String> = names.collect();
    // Integers first: another variable may be their scale, too.
    names.sort_by_key(|name| !variables.get(name).is_some_and(Variable::is_integer));
    let is_alias = |name: &&String| variables.variable_of(name) != **name;
    let (aliases, own): (Vec<&String>, Vec<&String>) = names.iter().partition(is_alias);
    let n_bytes = variables.n_bytes();
    let sizes = aliases.iter().filter_map(|name| variables.get(name));
    let n_repeated = sizes.fold(0_usize, |sum, it| sum.saturating_add(it.n_bytes()));
    if n_repeated > n_bytes {
        let fault = format_args!("its aliases repeat {n_repeated} bytes, more than the file has");
        return Err(damaged(fault));
    }
    let mut dict = StateDict::default();
    for name in aliases {
        dict.insert(name, variables.tensor(name)?);
    }
    for name in own {
        dict.insert(name, variables.take(name)?);
    }
    Ok(dict)
}

/// Makes the row of our start that of `</s>`, or zeros, and the token impossible.
fn replace_start(dict: &mut StateDict, start: Start) {
    for (name, is_bias) in [(TGT_EMBEDDING, false), (OUTPUT_BIAS, true)] {
        let Some(tensor) = dict.tensor(name) else {
            continue;
        };
        let shape = tensor.shape().clone();
        if shape.first().is_none_or(|n_rows| *n_rows <= EOS as usize) {
            continue; // The tensor does not fit into the model.
        }
        let mut values: Vec<f32> = tensor.iter::<f32>().collect();
        let width = values.len() / shape[0];
        let row = |id: u32| id as usize * width..(id as usize + 1) * width;
        match (is_bias, start) {
            (true, _) => values[row(BOS)].fill(IMPOSSIBLE),
            (false, Start::Eos) => values.copy_within(row(EOS), BOS as usize * width),
            (false, Start::Zero | Start::Token) => values[row(BOS)].fill(0.0),
        }
        dict.insert(name, TensorData::new(values, shape));
    }
}

fn refusal(error: ImportError) -> CTranslate2Error {
    match error {
        ImportError::Config(error) => error.into(),
        ImportError::Misfits { misfits } => CTranslate2Error::Tensors {
            n_misfits: misfits.len(),
            first: misfits.first().map(Misfit::to_string).unwrap_or_default(),
        },
        error => CTranslate2Error::Import(error),
    }
}
