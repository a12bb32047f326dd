//! The encoder-decoder Transformer of "Attention Is All You Need" (Vaswani et al. 2017,
//! <https://arxiv.org/abs/1706.03762>) as Burn modules, with tokenizers, devices, and the directory
//! format of trained models.
//!
//! ```text
//! text ─ Tokenizer ─▶ ids ─ Padded ─▶ Transformer::encode ─▶ Memory
//!                                                              │ begin
//!            logits ◀─ Transformer::decode ◀─ DecoderState ◀───┘
//! ```
//!
//! # Where to begin
//!
//! - [`TransformerConfig`]: all hyper-parameters; [`init`](TransformerConfig::init) builds the model.
//! - [`Transformer`]: the model, on ids or on vectors ([`forward_embedded`](Transformer::forward_embedded)).
//! - [`Padded`]: a batch of sequences with its padding.
//! - [`DecoderState`]: the cache of decoding, a value that you own.
//! - [`Mask`]: the keys that attention must not see.
//! - [`model::Encoder`], [`model::Decoder`] and [`model::MultiHeadAttention`]: parts of the model, usable alone.
//! - [`device::choose`]: a backend and its device.
//! - [`text::Tokenizer`]: words, characters, BPE, unigram, SentencePiece.
//! - [`ModelDirectory`]: a model on disk, written atomically and checked when read.
//! - [`import`] and [`export`]: weights of PyTorch, Marian, CTranslate2 and Transformers.
//!
//! # Conventions
//!
//! Axes have the same names everywhere: `batch`, `src_len` and `tgt_len` tokens, `d_model` features, `n_heads` heads of
//! `d_k` and `d_v` features, `d_ff` inner features, `vocab` tokens. In masks `true` means hidden.
//!
//! The model ([`model`], [`config`], [`Padded`]) contains no text processing, and [`text`] no tensors. There is no type
//! parameter `B: Backend` as in Burn before 0.22: a tensor carries its [`Device`](burn::tensor::Device), and one module
//! runs on every backend that is compiled in. Cargo features select the backends.
//!
//! # Example
//!
//! From text to the logits of the first target token, with random weights:
//!
//! ```
//! use burn::tensor::{Int, Tensor};
//! use transformer_core::text::{BOS, EOS, Tokenizer, TokenizerConfig, TokenizerKind};
//! use transformer_core::{Padded, TransformerConfig, device};
//!
//! let words = TokenizerConfig { kind: TokenizerKind::Word, ..TokenizerConfig::default() };
//! let tokenizer = Tokenizer::train(&words, ["a dog runs", "a cat"])?;
//! let (_, device) = device::choose(None)?;
//! let vocab = tokenizer.vocab_size();
//! let config = TransformerConfig { d_model: 16, d_ff: 32, ..TransformerConfig::tiny(vocab, vocab) };
//! let model = config.init(&device)?;
//!
//! let mut ids = tokenizer.encode("a dog");
//! ids.push(EOS);
//! let memory = model.encode(&Padded::new(&[ids], &device));
//! let mut state = model.begin(&memory);
//! let logits = model.decode(Tensor::<2, Int>::full([1, 1], BOS, &device), &mut state);
//! assert_eq!(logits.dims(), [1, 1, vocab]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod config;
#[doc(hidden)]
pub mod cpu;
pub mod device;
pub mod directory;
pub mod export;
pub mod import;
pub mod model;
#[doc(hidden)]
pub mod packed;

#[cfg(test)]
extern crate self as transformer_core;

mod padded;
mod shortlist;
#[cfg(test)]
#[path = "../tests/it/weights.rs"]
#[expect(dead_code, reason = "only integration tests use the rest")]
mod weights;

pub use config::{ConfigError, Preset, TransformerConfig};
pub use cpu::seed_dropout;
#[doc(hidden)]
pub use directory::QuantizeError;
pub use directory::{LoadError, ModelDirectory};
pub use model::{AttentionMaps, AttentionMasks, DecoderState, Mask, Memory, Transformer};
pub use packed::{ComputePrecision, PackedTransformer};
pub use padded::Padded;
#[doc(hidden)]
pub use shortlist::{Lexicon, Shortlist, ShortlistError, TokenPair};
#[doc(no_inline)]
pub use transformer_text as text;
#[doc(hidden)]
pub use transformer_text::{json, lines, random, regular_file};
