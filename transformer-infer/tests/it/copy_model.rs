//! A Transformer that copies, by weights that are written down: its translations and alignments are known.
//!
//! The features of a token are three blocks: which token it is, where it is, and what to print. Cross-attention looks for
//! the source token at the position of the decoder's input, and moves its first block to the third one, from which the
//! output reads. Everything else adds nothing. Layer normalization only scales and shifts such vectors.

use std::path::Path;

use transformer_core::TransformerConfig;
use transformer_core::config::{Positions, Tying};
use transformer_core::directory::Tokenizers;
use transformer_core::text::{Tokenizer, TokenizerConfig, TokenizerKind};

use crate::model::{test_device, write_directory};
use crate::weights::{random_model, rewrite};

/// Number of positions: source tokens and EOS, which are characters.
const N_POSITIONS: usize = 260;

/// Writes the directory of a model that copies lines of at most 250 of these characters.
pub(crate) fn write_copy_model(path: &Path, characters: &str) {
    write_mapped_model(path, characters, |character| character);
}

/// Writes the directory of a model that writes all letters large, in lines of at most 250 of these characters: what it
/// translated can be told from what was copied.
pub(crate) fn write_large_letters_model(path: &Path, characters: &str) {
    let large = |character: char| {
        let mut upper = character.to_uppercase();
        upper
            .next()
            .filter(|_| upper.next().is_none())
            .unwrap_or(character)
    };
    let all: String = characters.chars().flat_map(|it| [it, large(it)]).collect();
    write_mapped_model(path, &all, large);
}

fn write_mapped_model(path: &Path, characters: &str, map: impl Fn(char) -> char) {
    let config = TokenizerConfig {
        kind: TokenizerKind::Char,
        ..TokenizerConfig::default()
    };
    let tokenizer = Tokenizer::train(&config, [characters]).expect("the text is not blank");
    let vocab_size = tokenizer.vocab_size();
    let mut printed: Vec<usize> = (0..vocab_size).collect();
    let id = |character: char| tokenizer.encode(&character.to_string()).first().copied();
    for character in characters.chars() {
        if let (Some(from), Some(to)) = (id(character), id(map(character))) {
            printed[from as usize] = to as usize;
        }
    }
    let config = TransformerConfig {
        d_model: 2 * vocab_size + N_POSITIONS,
        d_ff: 1,
        n_heads: 1,
        d_k: Some(N_POSITIONS),
        d_v: Some(vocab_size),
        n_encoder_layers: 1,
        n_decoder_layers: 1,
        positions: Positions::Learned,
        max_positions: N_POSITIONS,
        tying: Tying::None,
        scale_embeddings: false,
        ..TransformerConfig::tiny(vocab_size, vocab_size)
    };
    let weights = CopyWeights {
        vocab_size,
        printed,
    };
    let model = random_model(&config, &test_device(), 1);
    let model = rewrite(model, |name, entry| {
        let n_columns = *entry.shape.last().unwrap_or(&1);
        let value = |index| weights.value(name, index / n_columns, index % n_columns);
        (0..entry.values.len()).map(value).collect()
    });
    write_directory(path, &config, &model, &Tokenizers::Joint(tokenizer));
}

struct CopyWeights {
    vocab_size: usize,
    /// The token that is printed for each token of the source.
    printed: Vec<usize>,
}

impl CopyWeights {
    /// Returns the value of a parameter at a row and a column.
    fn value(&self, name: &str, row: usize, column: usize) -> f32 {
        let (positions, output) = (self.vocab_size, self.vocab_size + N_POSITIONS);
        // Large enough to choose one position and one token, whatever the scale of normalization.
        let equal = |a: usize, b: usize, value: f32| if a == b { value } else { 0.0 };
        match name {
            "src_vocabulary.weight" | "tgt_vocabulary.weight" => equal(row, column, 1.0),
            "src_positions.learned" | "tgt_positions.learned" => {
                equal(row + positions, column, 1.0)
            }
            "decoder.layers.0.cross_attention.query.weight" => equal(row, column + positions, 8.0),
            "decoder.layers.0.cross_attention.key.weight" => equal(row, column + positions, 1.0),
            "decoder.layers.0.cross_attention.value.weight" => equal(row, column, 1.0),
            "decoder.layers.0.cross_attention.output.weight" => {
                equal(self.printed[row] + output, column, 10.0)
            }
            "output.weight" => equal(row + output, column, 10.0),
            name if name.ends_with("gamma") => 1.0,
            _ => 0.0,
        }
    }
}
