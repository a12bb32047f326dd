//! Integration tests: invariants of the model under every config, its gradients, comparison with
//! PyTorch, and files.

mod attention;
mod backends;
#[cfg(feature = "pytorch")]
mod bart;
#[cfg(feature = "pytorch")]
mod bergamot;
mod bergamot_bytes;
mod byte_fallback;
mod ctranslate2;
#[cfg(feature = "pytorch")]
mod ctranslate2_import;
mod feed_forward;
mod goldens;
mod gradients;
mod half;
#[cfg(feature = "pytorch")]
mod hostile;
#[cfg(feature = "pytorch")]
mod import;
mod initialization;
mod loss;
mod maps;
#[cfg(feature = "pytorch")]
mod marian;
#[cfg(feature = "pytorch")]
mod marian_binary;
#[cfg(feature = "pytorch")]
mod marian_export;
#[cfg(feature = "pytorch")]
mod marian_npz;
mod masks;
mod memory;
mod mixed_precision;
mod model;
mod multilingual;
#[cfg(not(feature = "pytorch"))]
mod no_pytorch;
#[cfg(feature = "pytorch")]
mod non_finite;
mod packed_goldens;
mod parameters;
#[cfg(feature = "pytorch")]
mod pegasus_export;
mod properties;
mod quantize;
mod recomputation;
mod shared;
mod stacks;
mod tolerances;
mod weights;
mod windows;
mod word_vectors;
