//! [`Vocabularies`]: the tokens of both sides, and the pieces of words.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::CTranslate2Error;
use super::container::Variables;
use super::package::Package;
use crate::directory::{SRC_TOKENIZER, TGT_TOKENIZER, TOKENIZER, Tokenizers};
use crate::import::MarianError;
use crate::import::marian::vocabulary::{
    SRC_MODEL, TGT_MODEL, parse_pieces, vocabulary as combined,
};
use crate::regular_file::{self, MAX_TOKENIZER_BYTES};
use crate::text::Tokenizer;
use crate::text::sentencepiece::{SentencePiece, SpecialIds};

const CONFIG: &str = "config.json";

/// The end of a sentence, in tokenizers of this program.
const EOS: &str = "</s>";

/// Names of SentencePiece models of both sides.
const JOINT_MODELS: [&str; 2] = ["sentencepiece.model", "sentencepiece.bpe.model"];

/// The token of a start that the model has no token for: its row is replaced, or added.
const START: &str = "<s>";

/// Names of the token that pads: OpenNMT's and fairseq's, and that of Transformers.
const PADS: [&str; 2] = ["<blank>", "<pad>"];

/// The settings of tokens, in `config.json` or, up to version 5, in variables.
#[derive(Debug, Deserialize)]
#[serde(default)]
pub(super) struct TokenSettings {
    unk_token: String,
    bos_token: String,
    eos_token: String,
    decoder_start_token: Option<String>,
    add_source_bos: bool,
    add_source_eos: bool,
    pub(super) layer_norm_epsilon: Option<f64>,
    multi_query_attention: bool,
    quantization_type: Value,
}

impl Default for TokenSettings {
    fn default() -> Self {
        Self {
            unk_token: "<unk>".to_owned(),
            bos_token: "<s>".to_owned(),
            eos_token: "</s>".to_owned(),
            decoder_start_token: None,
            add_source_bos: false,
            add_source_eos: false,
            layer_norm_epsilon: None,
            multi_query_attention: false,
            quantization_type: Value::Null,
        }
    }
}

impl TokenSettings {
    pub(super) fn read(package: &Package, variables: &Variables) -> Result<Self, MarianError> {
        let name = package.of_model(CONFIG);
        let found = package.read_json::<Self>(&name, MAX_TOKENIZER_BYTES)?;
        let settings = match variables.version {
            6.. => found.unwrap_or_default(),
            _ => Self::of_variables(variables, found.unwrap_or_default()),
        };
        let is_quantized = ![Value::Null, 0.into()].contains(&settings.quantization_type);
        let (key, found, expected) = if settings.decoder_start_token.is_none() {
            let expected = "a token, which is not one of the caller's language,";
            ("decoder_start_token", "null", expected)
        } else if is_quantized {
            ("quantization_type", "not 0", "0")
        } else if settings.add_source_bos {
            ("add_source_bos", "true", "false")
        } else if settings.multi_query_attention {
            ("multi_query_attention", "true", "false")
        } else {
            return Ok(settings);
        };
        Err(package.refuse(&name, CTranslate2Error::setting(key, &found, expected)))
    }

    fn of_variables(variables: &Variables, found: Self) -> Self {
        let text = |name, default| variables.text(name).unwrap_or(default);
        let flag = |name, default| variables.number(name).map_or(default, |it| it != 0.0);
        let defaults = Self::default();
        let bos_token = text("bos_token", defaults.bos_token);
        let eos_token = text("eos_token", defaults.eos_token);
        let start = match flag("with_target_bos", true) {
            true => bos_token.clone(),
            false => eos_token.clone(),
        };
        Self {
            unk_token: text("unk_token", defaults.unk_token),
            decoder_start_token: (!flag("user_decoder_start_tokens", false)).then_some(start),
            add_source_bos: flag("with_source_bos", false),
            add_source_eos: flag("with_source_eos", false),
            bos_token,
            eos_token,
            ..found
        }
    }

    fn start(&self) -> &str {
        self.decoder_start_token.as_deref().unwrap_or_default()
    }

    pub(super) fn decoder_start(&self, starts_from_zero: bool) -> Start {
        match (starts_from_zero, self.start() == self.eos_token) {
            (true, _) => Start::Zero,
            // As in models of fairseq.
            (false, true) => Start::Eos,
            (false, false) => Start::Token,
        }
    }

    /// Returns whether sources end with `</s>`. Models of Marian and fairseq were trained so, but their converter from
    /// Transformers leaves it to the caller's tokenizer.
    pub(super) fn ends_sources(&self, start: Start) -> bool {
        self.add_source_eos || start != Start::Token
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Start {
    /// A token that is used for nothing else.
    Token,
    /// The token `</s>`, as in models of fairseq.
    Eos,
    /// A vector of zeros, as in models of Marian.
    Zero,
}

pub(super) struct Vocabularies {
    pub(super) tokenizers: Tokenizers,
    pub(super) files: Vec<String>,
    /// For each of our ids the row in the model, which may not exist; source and target.
    pub(super) rows: [Vec<Option<u32>>; 2],
}

impl Vocabularies {
    /// Reads the vocabularies of a model with this many rows, and the SentencePiece models: those given, or those of
    /// the package.
    pub(super) fn read(
        package: &Package,
        given: &[PathBuf],
        settings: &TokenSettings,
        n_rows: [usize; 2],
        start: Start,
    ) -> Result<Self, MarianError> {
        let sides = sides(package, settings, n_rows)?;
        let is_shared = sides[0].1 == sides[1].1;
        let mut files: Vec<String> = sides.iter().map(|(name, _)| name.clone()).collect();
        let Some(models) = pieces(package, given)? else {
            let tokenizers = without_pieces(package, settings, &sides, start)?;
            files.dedup();
            let rows = n_rows.map(|n_rows| (0..n_rows as u32).map(Some).collect());
            return Ok(Self {
                tokenizers,
                files,
                rows,
            });
        };
        files.extend(models.iter().map(|(name, _)| name.clone()));
        files.dedup();
        let vocabulary = |side: usize| {
            let (name, tokens) = &sides[side];
            let is_tgt = side == 1 || is_shared;
            let synthetic_start = is_tgt && start != Start::Token;
            let (pieces, model) = &models[side.min(models.len() - 1)];
            let (tokens, special) = with_special(tokens, settings, is_tgt, synthetic_start)
                .map_err(|error| package.refuse(name, error))?;
            check_pieces(pieces, model, &tokens).map_err(|error| package.refuse(name, error))?;
            combined(model.clone(), tokens, special, &package.path(name))
        };
        let [src, tgt] = [vocabulary(0)?, vocabulary(1)?];
        let rows = [&src, &tgt].map(|side| side.rows().to_vec());
        let [src, tgt] = [src, tgt].map(Tokenizer::from_pieces);
        let tokenizers = match is_shared && models.len() == 1 {
            true => Tokenizers::Joint(tgt),
            false => Tokenizers::Separate { src, tgt },
        };
        Ok(Self {
            tokenizers,
            files,
            rows,
        })
    }
}

/// Reads the tokens of source and target, with the names of their files.
fn sides(
    package: &Package,
    settings: &TokenSettings,
    n_rows: [usize; 2],
) -> Result<[(String, Vec<String>); 2], MarianError> {
    if let Some(shared) = side(package, "shared", settings, n_rows[1])? {
        return Ok([shared.clone(), shared]);
    }
    let of = |name: &str, n_rows| {
        let found = side(package, name, settings, n_rows)?;
        found.ok_or_else(|| MarianError::Read {
            path: package.path(&package.of_model(&format!("{name}_vocabulary.json"))),
            source: ErrorKind::NotFound.into(),
        })
    };
    Ok([of("source", n_rows[0])?, of("target", n_rows[1])?])
}

/// Reads the tokens of one side and checks their number; returns them with the name of the file.
fn side(
    package: &Package,
    side: &str,
    settings: &TokenSettings,
    n_rows: usize,
) -> Result<Option<(String, Vec<String>)>, MarianError> {
    let [json_name, text_name] =
        ["json", "txt"].map(|kind| package.of_model(&format!("{side}_vocabulary.{kind}")));
    let of_json = package.read_json(&json_name, MAX_TOKENIZER_BYTES)?;
    let (name, mut tokens) = if let Some(tokens) = of_json {
        (json_name, tokens)
    } else if let Some(text) = package.read(&text_name, MAX_TOKENIZER_BYTES)? {
        (text_name, lines(&String::from_utf8_lossy(&text)))
    } else {
        return Ok(None);
    };
    if !tokens.contains(&settings.unk_token) {
        tokens.push(settings.unk_token.clone());
    }
    match tokens.len() == n_rows {
        true => Ok(Some((name, tokens))),
        false => {
            let refusal = CTranslate2Error::VocabSize {
                found: tokens.len(),
                expected: n_rows,
            };
            Err(package.refuse(&name, refusal))
        }
    }
}

/// Splits lines; carriage returns are part of tokens unless every line has one.
fn lines(text: &str) -> Vec<String> {
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
    let stripped: Option<Vec<&str>> = lines.clone().map(|line| line.strip_suffix('\r')).collect();
    let lines = stripped.unwrap_or_else(|| lines.collect());
    lines.into_iter().map(str::to_owned).collect()
}

/// Returns the tokens with those that the model does not have, and the special ids.
fn with_special(
    tokens: &[String],
    settings: &TokenSettings,
    is_tgt: bool,
    synthetic_start: bool,
) -> Result<(Vec<String>, SpecialIds), CTranslate2Error> {
    let mut tokens = tokens.to_vec();
    let find = |tokens: &[String], token: &str| {
        let found = tokens.iter().position(|other| other == token);
        found.map(|id| id as u32)
    };
    let add = |tokens: &mut Vec<String>, token: &str| {
        tokens.push(token.to_owned());
        tokens.len() as u32 - 1
    };
    let missing = |key, token: &str| CTranslate2Error::NoToken {
        key,
        token: token.to_owned(),
    };
    let unk = find(&tokens, &settings.unk_token);
    let unk = unk.ok_or_else(|| missing("unk_token", &settings.unk_token))?;
    let eos = match find(&tokens, &settings.eos_token) {
        Some(eos) => eos,
        None if is_tgt => return Err(missing("eos_token", &settings.eos_token)),
        None => add(&mut tokens, &settings.eos_token),
    };
    let bos = match is_tgt {
        true => settings.start(),
        false => &settings.bos_token,
    };
    let bos = if synthetic_start { START } else { bos };
    let start = match find(&tokens, bos).filter(|start| ![unk, eos].contains(start)) {
        Some(start) => start,
        None if is_tgt && !synthetic_start => return Err(missing("decoder_start_token", bos)),
        None => add(&mut tokens, START),
    };
    let pad = PADS.iter().find_map(|token| find(&tokens, token));
    let pad = pad.filter(|pad| ![unk, eos, start].contains(pad));
    let special = SpecialIds {
        pad: pad.unwrap_or(start),
        unk,
        start,
        eos,
    };
    Ok((tokens, special))
}

/// Reads the given SentencePiece models, or those of the package: one, or source and target.
fn pieces(
    package: &Package,
    given: &[PathBuf],
) -> Result<Option<Vec<(String, SentencePiece)>>, MarianError> {
    let mut models = Vec::new();
    for path in given {
        let content = regular_file::read(path, MAX_TOKENIZER_BYTES);
        let content = content.map_err(|source| MarianError::Read {
            path: path.clone(),
            source,
        })?;
        models.push((path.display().to_string(), parse_pieces(path, &content)?));
    }
    let names = JOINT_MODELS
        .iter()
        .flat_map(|name| [vec![(*name).to_owned()], vec![package.of_model(name)]]);
    let separate = [SRC_MODEL, TGT_MODEL].map(|name| package.of_model(name));
    for names in names.chain([separate.to_vec()]) {
        if !models.is_empty() {
            break;
        }
        let contents = names
            .iter()
            .map(|name| package.read(name, MAX_TOKENIZER_BYTES));
        let contents: Vec<Option<Vec<u8>>> = contents.collect::<Result<_, _>>()?;
        let contents: Option<Vec<Vec<u8>>> = contents.into_iter().collect();
        for (name, content) in names.into_iter().zip(contents.unwrap_or_default()) {
            let model = parse_pieces(&package.path(&name), &content)?;
            models.push((name, model));
        }
    }
    Ok((!models.is_empty()).then_some(models))
}

/// Checks that a SentencePiece model and a vocabulary belong together.
fn check_pieces(
    name: &str,
    model: &SentencePiece,
    tokens: &[String],
) -> Result<(), CTranslate2Error> {
    let tokens: HashSet<&str> = tokens.iter().map(String::as_str).collect();
    let pieces = model.pieces();
    let n_pieces = pieces.len();
    let n_known = pieces
        .iter()
        .filter(|it| tokens.contains(it.as_str()))
        .count();
    match 2 * n_known >= n_pieces {
        true => Ok(()),
        false => Err(CTranslate2Error::OtherPieces {
            pieces: name.to_owned(),
            n_pieces,
            n_known,
        }),
    }
}

/// Returns the tokenizers of a model that this program exported, or the reason why there are no others.
fn without_pieces(
    package: &Package,
    settings: &TokenSettings,
    sides: &[(String, Vec<String>); 2],
    start: Start,
) -> Result<Tokenizers, MarianError> {
    let own = match [settings.start(), &settings.eos_token] {
        [START, EOS] if start == Start::Token => own_tokenizers(package, sides)?,
        _ => None,
    };
    own.ok_or_else(|| {
        let codes = package.read("bpe.model", u64::MAX);
        let refusal = match codes.is_ok_and(|it| it.is_some()) {
            true => CTranslate2Error::SubwordNmt,
            false => CTranslate2Error::NoPieces,
        };
        package.refuse("", refusal)
    })
}

/// Reads the tokenizers of a model that this program exported; `None` if there are none with these tokens.
fn own_tokenizers(
    package: &Package,
    sides: &[(String, Vec<String>); 2],
) -> Result<Option<Tokenizers>, MarianError> {
    let read = |name: &str, tokens: &[String]| -> Result<Option<Tokenizer>, MarianError> {
        let Some(content) = package.read(&package.of_model(name), MAX_TOKENIZER_BYTES)? else {
            return Ok(None);
        };
        let tokenizer = Tokenizer::from_json(&String::from_utf8_lossy(&content));
        let tokenizer = tokenizer.map_err(MarianError::Tokenizer)?;
        let ours = (0..)
            .take(tokenizer.vocab_size())
            .map(|id| tokenizer.token(id));
        let is_equal = ours.eq(tokens.iter().cloned().map(Some));
        Ok(is_equal.then_some(tokenizer))
    };
    let [src, tgt] = sides;
    if let Some(joint) = read(TOKENIZER, &tgt.1)?.filter(|_| src.1 == tgt.1) {
        return Ok(Some(Tokenizers::Joint(joint)));
    }
    let both = read(SRC_TOKENIZER, &src.1)?.zip(read(TGT_TOKENIZER, &tgt.1)?);
    Ok(both.map(|(src, tgt)| Tokenizers::Separate { src, tgt }))
}
