//! The interfaces of other servers: what their clients send, and what they need to get.

mod clients;
mod deepl;
mod encodings;
mod files;
mod libretranslate;
mod replays;
mod server;
