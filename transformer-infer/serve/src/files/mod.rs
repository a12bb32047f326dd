//! Files: uploaded, translated, and kept until their clients have fetched them.

mod download;
mod folder;
mod store;
mod upload;

pub(crate) use download::download;
pub(crate) use store::{FileLimits, FileState, FileStore, PendingFile, Slot, random_name};
pub(crate) use upload::{Upload, UploadOptions};
