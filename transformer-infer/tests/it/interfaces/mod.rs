//! The interfaces of other servers: what their clients send, and what they need to get.

mod clients;
mod deepl;
mod encodings;
mod files;
mod google;
mod libretranslate;
mod openai;
mod replays;
mod server;
