//! The promises of a model directory that involve several of its files.

mod files;
mod record;
mod strict;
mod weights;
