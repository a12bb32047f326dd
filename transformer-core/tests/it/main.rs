//! Integration tests: invariants of the model under every config, its gradients, comparison with
//! PyTorch, and files.

mod attention;
mod backends;
mod ctranslate2;
mod goldens;
mod gradients;
mod half;
mod import;
mod loss;
mod maps;
mod marian;
mod marian_export;
mod masks;
mod model;
mod parameters;
mod properties;
mod quantize;
mod tolerances;
mod weights;
mod windows;
mod word_vectors;
