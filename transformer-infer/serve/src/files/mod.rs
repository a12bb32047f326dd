//! Files: uploaded, translated, and kept until their clients have fetched them.

mod folder;
mod store;
mod upload;

pub(crate) use store::{FileLimits, FileState, FileStore, PendingFile, Slot, random_name};
pub(crate) use upload::{Upload, UploadOptions, download};
