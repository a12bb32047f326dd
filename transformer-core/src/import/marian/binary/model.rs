//! [`read`]: imports a model with its vocabularies.

use std::borrow::Cow;
use std::path::PathBuf;

use burn::tensor::TensorData;

use super::container::take_container;
use super::files::Files;
use super::settings::{SearchSettings, Settings};
use super::{BinaryError, read_npz, vocabulary};
use crate::Shortlist;
use crate::config::{TransformerConfig, Tying};
use crate::directory::{ModelFiles, StoredTensors, Tokenizers};
use crate::import::marian::vocabulary::{
    SRC_MODEL, TGT_MODEL, id, parse_pieces, rows, vocabulary as combined,
};
use crate::import::marian::weights::{IMPOSSIBLE, ordered};
use crate::import::marian::{EarlyStopping, Generation};
use crate::import::{ImportError, Marian, MarianError, Misfit, Names, StateDict};
use crate::regular_file::{MAX_SETTINGS_BYTES, MAX_TOKENIZER_BYTES};
use crate::text::Tokenizer;
use crate::text::sentencepiece::SpecialIds;

const EOS: &str = "</s>";
const UNK: &str = "<unk>";

/// The name of the token that decoding starts from, which the file does not have.
const START: &str = "<pad>";

/// Reads a model, given its folder, the file of its weights, or its files in memory.
pub(in super::super) fn read<M>(
    files: &ModelFiles,
    build: impl FnOnce(&TransformerConfig, StoredTensors) -> M,
) -> Result<Marian<M>, MarianError> {
    let files = Files::find(files)?;
    let weights = files.path(&files.model);
    let refused = refused(weights.clone());
    let file = files.take(&files.model)?;
    let (mut dict, settings) = match files.model.ends_with(".npz") {
        true => read_npz(&file),
        false => take_container(file),
    }
    .map_err(&refused)?;
    let settings = Settings::parse(&settings).map_err(&refused)?;
    let tokenizers = tokenizers(&files, &settings)?;
    let (src, tgt) = (rows(tokenizers.src()), rows(tokenizers.tgt()));
    let config = settings.config(src.len(), tgt.len()).map_err(&refused)?;
    if config.tying == Tying::All {
        let checked = tokenizers.check_tying(&config);
        checked.map_err(|error| refused(error.into()))?;
    }
    let n_tgt = n_pieces(tokenizers.tgt());
    for (name, rows, n_rows, fill) in [
        ("Wemb", &tgt, n_tgt, 0.0),
        ("encoder_Wemb", &src, n_pieces(tokenizers.src()), 0.0),
        ("decoder_Wemb", &tgt, n_tgt, 0.0),
        ("decoder_ff_logit_out_b", &tgt, n_tgt, IMPOSSIBLE),
    ] {
        reorder(&mut dict, name, rows, n_rows, fill);
    }
    let tensors = dict.into_tensors(&config, &Names::MarianBinary);
    let tensors = tensors.map_err(|error| refused(misfit(error)))?;
    let model = build(&config, tensors);
    Ok(Marian {
        kind: "Marian",
        config,
        languages: files.languages()?,
        generation: generation(&files)?,
        model,
        shortlist: shortlist(&files, &tokenizers)?,
        tokenizers,
        files: files.names(),
        weights,
    })
}

fn refused(path: PathBuf) -> impl Fn(BinaryError) -> MarianError {
    move |source| MarianError::Binary {
        path: path.clone(),
        source,
    }
}

fn tokenizers(files: &Files, settings: &Settings) -> Result<Tokenizers, MarianError> {
    let read = |name: &str, sides: &[usize]| -> Result<Tokenizer, MarianError> {
        let pieces = match name.ends_with(".spm") {
            true => name,
            false => [SRC_MODEL, TGT_MODEL][sides[0]],
        };
        let tokenizer = tokenizer(files, pieces, name)?;
        let n_pieces = n_pieces(&tokenizer);
        for side in sides {
            let checked = settings.check_vocabulary(*side, n_pieces);
            checked.map_err(refused(files.path(name)))?;
        }
        Ok(tokenizer)
    };
    let src = &files.src_vocabulary;
    Ok(match &files.tgt_vocabulary {
        None if src.ends_with(".spm") => Tokenizers::Joint(read(src, &[0, 1])?),
        tgt => Tokenizers::Separate {
            src: read(src, &[0])?,
            tgt: read(tgt.as_ref().unwrap_or(src), &[1])?,
        },
    })
}

fn shortlist(files: &Files, tokenizers: &Tokenizers) -> Result<Option<Shortlist>, MarianError> {
    let Some(name) = &files.shortlist else {
        return Ok(None);
    };
    let file = files.read(name, MAX_TOKENIZER_BYTES)?;
    let [n_src, n_tgt] = [tokenizers.src(), tokenizers.tgt()].map(n_pieces);
    let shortlist = Shortlist::parse(&file, n_src, n_tgt);
    let shortlist = shortlist.map_err(|source| refused(files.path(name))(source.into()))?;
    let (src, tgt) = (rows(tokenizers.src()), rows(tokenizers.tgt()));
    let shortlist = shortlist.renumbered(&src, &tgt);
    Ok(Some(match tokenizers {
        Tokenizers::Joint(_) => shortlist.with_copies(),
        Tokenizers::Separate { .. } => shortlist,
    }))
}

fn generation(files: &Files) -> Result<Generation, MarianError> {
    let (name, text) = match &files.search {
        Some(name) => (name, files.read(name, MAX_SETTINGS_BYTES)?),
        None => (&files.model, Cow::default()),
    };
    let default = match files.model.ends_with(".npz") {
        true => SearchSettings::MARIAN,
        false => SearchSettings::BERGAMOT,
    };
    let search = SearchSettings::parse(&String::from_utf8_lossy(&text), &default);
    let search = search.map_err(refused(files.path(name)))?;
    Ok(Generation {
        num_beams: Some(search.beam_size),
        max_len_factor: Some(search.max_length_factor),
        length_penalty: search.normalize,
        early_stopping: EarlyStopping::Never,
        ..Generation::default()
    })
}

/// Returns the number of pieces of the model, which does not have the token that decoding starts from.
fn n_pieces(tokenizer: &Tokenizer) -> usize {
    rows(tokenizer).iter().flatten().count() - 1
}

/// Reads the SentencePiece model of one side, and its vocabulary, which may be a file in YAML.
fn tokenizer(files: &Files, pieces: &str, name: &str) -> Result<Tokenizer, MarianError> {
    let model = files.read(pieces, MAX_TOKENIZER_BYTES)?;
    let model = parse_pieces(&files.path(pieces), &model)?;
    let path = files.path(name);
    let mut tokens = match name == pieces {
        true => model.pieces(),
        false => {
            let text = files.read(name, MAX_TOKENIZER_BYTES)?;
            let tokens = vocabulary::tokens(&String::from_utf8_lossy(&text));
            tokens.map_err(refused(path.clone()))?
        }
    };
    let (eos, unk) = (id(&tokens, EOS, &path)?, id(&tokens, UNK, &path)?);
    let start = tokens.len() as u32;
    tokens.push(START.to_owned());
    let special = SpecialIds {
        pad: start,
        unk,
        start,
        eos,
    };
    let vocabulary = combined(model, tokens, special, &path)?;
    Ok(Tokenizer::from_pieces(vocabulary))
}

/// Reorders the rows of a tensor of this many rows, with `fill` for rows that it does not have. A tensor of another
/// size stays as it is, and does not fit into the model.
pub(crate) fn reorder(
    dict: &mut StateDict,
    name: &str,
    rows: &[Option<u32>],
    n_rows: usize,
    fill: f32,
) {
    let divisor = dict.divided(name).map(|(_, divisor)| divisor);
    let Some(tensor) = dict.remove(name) else {
        return;
    };
    let mut shape: Vec<usize> = tensor.shape().iter().copied().collect();
    if shape.first() != Some(&n_rows) {
        match divisor {
            Some(divisor) => dict.insert_divided(name, tensor, divisor),
            None => drop(dict.insert(name, tensor)),
        }
        return;
    }
    let width = shape[1..].iter().product();
    shape[0] = rows.len();
    match divisor {
        // Integers are those of vocabularies, which are filled with zeros.
        Some(divisor) => {
            let integers = tensor.as_slice::<i8>().unwrap_or_default();
            let integers = TensorData::new(ordered(integers, rows, width, 0), shape);
            dict.insert_divided(name, integers, divisor);
        }
        None => {
            let values: Vec<f32> = tensor.iter::<f32>().collect();
            let values = ordered(&values, rows, width, fill);
            dict.insert(name, TensorData::new(values, shape));
        }
    }
}

fn misfit(error: ImportError) -> BinaryError {
    match error {
        ImportError::Config(error) => error.into(),
        ImportError::Misfits { misfits } => BinaryError::Tensors {
            n_misfits: misfits.len(),
            first: misfits.first().map(Misfit::to_string).unwrap_or_default(),
        },
        error => BinaryError::Import(error),
    }
}
