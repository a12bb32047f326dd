//! The server, with models whose translations are known, over real connections.

mod attention;
mod client;
mod config_file;
mod connections;
mod fuzz;
mod keys;
mod models;
mod on_demand;
mod places;
mod program;
mod running;
mod stream;
mod translate;
