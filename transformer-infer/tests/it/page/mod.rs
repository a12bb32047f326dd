//! The page of the server in a browser, with a model that copies: Chromium types, points, clicks, drops and reads.
//!
//! A browser takes seconds to start. These tests still run by default, because no others execute the page's scripts.

mod access;
mod failures;
mod languages;
mod layout;
mod open_page;
mod panels;
mod scripts;
mod typing;
