//! Export to CTranslate2. `tests/fixtures/ctranslate2/generate_ctranslate2.py` writes the same weights with CTranslate2's
//! own converter, loads them, and compares the logits with PyTorch's goldens, except for goldens with custom masks,
//! which CTranslate2 does not support.

use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use tempfile::TempDir;
use transformer_core::directory::Tokenizers;
use transformer_core::export::{ExportError, to_ctranslate2};
use transformer_core::text::{Tokenizer, TokenizerConfig, TokenizerKind};

use crate::goldens::{
    ADDITIVE_MASKS_BIAS_FREE, FAIRSEQ_SINUSOIDS, GATED_FEED_FORWARD, Golden,
    HEAD_WIDTHS_AND_WINDOWS, MBART, PAPER, POST_NORM_WITH_FINAL_NORMS, PRE_NORM_GELU,
    PRE_NORM_SILU_LEARNED, RMS_NORMS, SSRU,
};

/// Absolute difference of sinusoids, which both programs compute.
const TOLERANCE: f32 = 2e-7;

/// A value of the file.
#[derive(Debug, PartialEq)]
enum Value {
    /// Kind, shape, bytes.
    Held(u8, Vec<u32>, Vec<u8>),
    Alias(String),
}

/// The rest of a file.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, n_bytes: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(n_bytes);
        self.0 = rest;
        taken
    }

    fn number(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().expect("four bytes"))
    }

    fn name(&mut self) -> String {
        let n_bytes = u16::from_le_bytes(self.take(2).try_into().expect("two bytes"));
        let (zero, text) = self
            .take(n_bytes.into())
            .split_last()
            .expect("a zero is behind it");
        assert_eq!(*zero, 0);
        String::from_utf8(text.to_vec()).expect("names are text")
    }

    fn held(&mut self) -> Value {
        let n_sides = self.take(1)[0];
        let shape = (0..n_sides).map(|_| self.number()).collect();
        let kind = self.take(1)[0];
        let n_bytes = self.number() as usize;
        Value::Held(kind, shape, self.take(n_bytes).to_vec())
    }
}

/// Parses `model.bin`: the kind of model, and all values with their names, in order.
fn parse(file: &[u8]) -> (String, Vec<(String, Value)>) {
    let mut rest = Rest(file);
    let kind = (rest.number(), rest.name(), rest.number());
    let mut values = Vec::new();
    for _ in 0..rest.number() {
        values.push((rest.name(), rest.held()));
    }
    for _ in 0..rest.number() {
        values.push((rest.name(), Value::Alias(rest.name())));
    }
    assert!(rest.0.is_empty(), "{} bytes are left", rest.0.len());
    (format!("{kind:?}"), values)
}

/// Returns a tokenizer with this many tokens.
pub(crate) fn words(n_tokens: usize) -> Tokenizer {
    let config = TokenizerConfig {
        kind: TokenizerKind::Word,
        ..TokenizerConfig::default()
    };
    let words = (4..n_tokens).map(|id| format!("word{id}"));
    let line = words.collect::<Vec<String>>().join(" ");
    Tokenizer::train(&config, [line]).expect("there are words")
}

fn tokenizers(golden: &Golden) -> Tokenizers {
    let (n_src, n_tgt) = (golden.config.src_vocab_size, golden.config.tgt_vocab_size);
    if n_src == n_tgt {
        Tokenizers::Joint(words(n_src))
    } else {
        Tokenizers::Separate {
            src: words(n_src),
            tgt: words(n_tgt),
        }
    }
}

pub(crate) fn exported(golden: &Golden) -> Result<TempDir, ExportError> {
    let folder = tempfile::tempdir().expect("there is room");
    let tokenizers = tokenizers(golden);
    to_ctranslate2(folder.path(), &golden.model(), &golden.config, &tokenizers)?;
    Ok(folder)
}

fn file(folder: &Path, name: &str) -> Vec<u8> {
    fs::read(folder.join(name)).expect("it was exported")
}

fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().expect("four bytes"));
    bytes.chunks_exact(4).map(number)
}

fn check(json: &str, name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ctranslate2");
    let packed =
        fs::read(path.join(format!("{name}.model.bin.gz"))).expect("the generator made it");
    let mut expected = Vec::new();
    let unpacked = GzDecoder::new(&packed[..]).read_to_end(&mut expected);
    unpacked.expect("the generator packed it");
    let folder = exported(&Golden::read(json)).expect("CTranslate2's models can be all this");
    let (kind, ours) = parse(&file(folder.path(), "model.bin"));
    let (expected_kind, theirs) = parse(&expected);
    assert_eq!(kind, expected_kind);
    assert_eq!(ours.len(), theirs.len());
    for ((name, ours), (expected, theirs)) in ours.iter().zip(&theirs) {
        assert_eq!(name, expected);
        match (ours, theirs) {
            (Value::Held(0, shape, ours), Value::Held(0, expected_shape, theirs))
                if name.ends_with("encodings") =>
            {
                assert_eq!(shape, expected_shape, "{name}");
                let mut pairs = floats(ours).zip(floats(theirs));
                assert!(pairs.all(|(a, b)| (a - b).abs() < TOLERANCE), "{name}");
            }
            _ => assert!(ours == theirs, "{name}"),
        }
    }
}

#[test]
fn the_papers_model_is_exported_as_ctranslate2_does() {
    check(PAPER, "paper");
}

#[test]
fn a_post_norm_model_with_final_norms_is_exported_as_ctranslate2_does() {
    check(POST_NORM_WITH_FINAL_NORMS, "post_norm_with_final_norms");
}

#[test]
fn a_pre_norm_model_with_an_output_bias_is_exported_as_ctranslate2_does() {
    check(PRE_NORM_GELU, "pre_norm_gelu");
}

#[test]
fn a_model_with_learned_positions_is_exported_as_ctranslate2_does() {
    check(PRE_NORM_SILU_LEARNED, "pre_norm_silu_learned");
}

#[test]
fn a_model_without_biases_or_tying_is_exported_as_ctranslate2_does() {
    check(ADDITIVE_MASKS_BIAS_FREE, "additive_masks_bias_free");
}

#[test]
fn a_model_with_fairseqs_sinusoids_is_exported_as_ctranslate2_does() {
    check(FAIRSEQ_SINUSOIDS, "fairseq_sinusoids");
}

#[test]
fn a_model_with_rms_norms_is_exported_as_ctranslate2_does() {
    check(RMS_NORMS, "rms_norms");
}

#[test]
fn a_model_with_a_gate_is_exported_as_ctranslate2_does() {
    check(GATED_FEED_FORWARD, "gated_feed_forward");
}

#[test]
fn a_model_with_mbarts_embeddings_is_exported_as_ctranslate2_does() {
    check(MBART, "mbart");
}

/// CTranslate2 ignores the embedding of the first token by itself: with a tied output, zeros there would change logits.
#[test]
fn a_start_from_zeros_changes_no_weight() {
    let mut golden = Golden::read(PAPER);
    let values = |golden: &Golden| {
        let folder = exported(golden).expect("CTranslate2's models can be all this");
        parse(&file(folder.path(), "model.bin")).1
    };
    let from_embedding = values(&golden);
    golden.config.start_from_zeros = true;
    let from_zeros = values(&golden);
    let differ = from_embedding
        .iter()
        .zip(&from_zeros)
        .filter(|(a, b)| a != b);
    let names: Vec<&str> = differ.map(|((name, _), _)| name.as_str()).collect();
    assert_eq!(names, ["decoder/start_from_zero_embedding"]);
}

#[test]
fn vocabularies_and_special_tokens_are_those_of_the_tokenizers() {
    let golden = Golden::read(PRE_NORM_GELU);
    let folder = exported(&golden).expect("CTranslate2's models can be all this");
    let read = |name: &str| -> serde_json::Value {
        serde_json::from_slice(&file(folder.path(), name)).expect("it is JSON")
    };
    let tgt = read("target_vocabulary.json");
    let tgt: Vec<&str> = tgt
        .as_array()
        .expect("it is a list")
        .iter()
        .filter_map(|token| token.as_str())
        .collect();
    assert_eq!(tgt.len(), golden.config.tgt_vocab_size);
    assert_eq!(tgt[..4], ["<pad>", "<unk>", "<s>", "</s>"]);
    let n_src = read("source_vocabulary.json").as_array().map(Vec::len);
    assert_eq!(n_src, Some(golden.config.src_vocab_size));
    let theirs = include_str!("../fixtures/ctranslate2/pre_norm_gelu.config.json");
    let theirs: serde_json::Value = serde_json::from_str(theirs).expect("the generator wrote it");
    assert_eq!(read("config.json"), theirs);
}

#[test]
fn files_of_another_model_in_the_folder_are_removed() {
    let folder = exported(&Golden::read(PAPER)).expect("CTranslate2's models can be all this");
    let golden = Golden::read(PRE_NORM_GELU);
    let (model, tokenizers) = (golden.model(), tokenizers(&golden));
    let again = to_ctranslate2(folder.path(), &model, &golden.config, &tokenizers);
    again.expect("a folder can be written over");
    let mut names: Vec<String> = fs::read_dir(folder.path())
        .expect("it is there")
        .map(|entry| entry.expect("it can be listed").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "config.json",
            "model.bin",
            "source_vocabulary.json",
            "src_tokenizer.json",
            "target_vocabulary.json",
            "tgt_tokenizer.json",
            "tokenizer_config.json",
        ]
    );
}

#[test]
fn custom_head_widths_are_refused() {
    let refused = exported(&Golden::read(HEAD_WIDTHS_AND_WINDOWS));
    let message = refused.expect_err("d_model is 7, with 2 heads").to_string();
    assert_eq!(
        message,
        "`d_k` is 5, but CTranslate2's models support only d_model / n_heads; retrain with \
         another `model.d_k`, or choose another format"
    );
}

#[test]
fn a_recurrence_is_refused() {
    let refused = exported(&Golden::read(SSRU));
    let message = refused
        .expect_err("the decoder has a recurrence")
        .to_string();
    assert_eq!(
        message,
        "`decoder_mixing` is \"ssru\", but CTranslate2's models support only the default; retrain with \
         another `model.decoder_mixing`, or choose another format"
    );
}

#[test]
fn too_many_positions_are_refused_before_they_are_computed() {
    let mut golden = Golden::read(PAPER);
    golden.config.max_positions = 1 << 40;
    let refused = exported(&golden).expect_err("4 bytes per position and feature are too many");
    assert_eq!(
        refused.to_string(),
        "`max_positions` is too large for CTranslate2's models"
    );
}
