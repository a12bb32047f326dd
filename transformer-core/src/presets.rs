//! Named configurations: the paper's base and big models (Table 3) and one for small data.

use crate::config::{Activation, NormPlacement, Positions, TransformerConfig, Tying};

impl Default for TransformerConfig {
    /// Returns the paper's base model over its shared vocabulary of 37,000 tokens (§5.1).
    fn default() -> Self {
        Self::base(37_000, 37_000)
    }
}

impl TransformerConfig {
    /// Returns the paper's base model (Table 3, first row).
    ///
    /// All three vocabulary matrices are tied when the two vocabularies have one size; otherwise the
    /// target embedding is tied with the output only.
    pub fn base(src_vocab_size: usize, tgt_vocab_size: usize) -> Self {
        let joint = src_vocab_size == tgt_vocab_size;
        Self {
            src_vocab_size,
            tgt_vocab_size,
            d_model: 512,
            d_ff: 2048,
            n_heads: 8,
            d_k: None,
            d_v: None,
            n_encoder_layers: 6,
            n_decoder_layers: 6,
            norm_placement: NormPlacement::Post,
            final_norm: false,
            norm_epsilon: 1e-5,
            positions: Positions::Sinusoidal,
            max_positions: 1024,
            activation: Activation::Relu,
            attention_bias: true,
            tying: if joint { Tying::All } else { Tying::Decoder },
            scale_embeddings: true,
            dropout: 0.1,
            attention_dropout: 0.0,
            activation_dropout: 0.0,
        }
    }

    /// Returns the paper's big model (Table 3, last row).
    pub fn big(src_vocab_size: usize, tgt_vocab_size: usize) -> Self {
        Self {
            d_model: 1024,
            d_ff: 4096,
            n_heads: 16,
            dropout: 0.3,
            ..Self::base(src_vocab_size, tgt_vocab_size)
        }
    }

    /// Returns a model for tens of thousands of sentences: 4 + 4 layers, `d_model` 128, `d_ff` 256,
    /// 4 heads, the shape of Wu et al. 2021, "Good for Misconceived Reasons"
    /// (<https://arxiv.org/abs/2105.14462>), with dropout 0.1.
    pub fn tiny(src_vocab_size: usize, tgt_vocab_size: usize) -> Self {
        Self {
            d_model: 128,
            d_ff: 256,
            n_heads: 4,
            n_encoder_layers: 4,
            n_decoder_layers: 4,
            ..Self::base(src_vocab_size, tgt_vocab_size)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_has_heads_of_64() {
        let config = TransformerConfig::default();
        assert_eq!((config.head_d_k(), config.head_d_v()), (64, 64));
    }

    #[test]
    fn separate_vocabularies_keep_the_source_embedding_apart() {
        assert_eq!(TransformerConfig::tiny(30, 15).tying, Tying::Decoder);
        assert_eq!(TransformerConfig::tiny(30, 30).tying, Tying::All);
    }
}
