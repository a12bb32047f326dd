//! The interfaces of other servers: what their clients send, and what they need to get.

mod clients;
mod deepl;
mod deepl_glossaries;
mod deeplx;
mod encodings;
mod files;
mod google;
mod libretranslate;
mod microsoft;
mod mtuoc;
mod openai;
mod replays;
mod server;
