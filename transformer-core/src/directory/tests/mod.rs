//! What a model directory promises, over several of its files.

mod files;
mod strict;
mod weights;
