//! What crosses files: the model's invariants under every switch of its config, its gradients, and
//! what PyTorch computes with the same weights.

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
