//! Names of the files of a model directory, and versions of its format.

/// Version of the format for weights in full precision.
pub(super) const FORMAT: u64 = 1;

/// First version with a precision in the manifest. Older programs refuse it by this number.
pub(super) const NEWEST_FORMAT: u64 = 2;

/// The file that makes a directory a model directory.
pub(crate) const MANIFEST: &str = "manifest.json";

pub(super) const CONFIG: &str = "config.json";
pub(super) const WEIGHTS: &str = "weights.bpk";

/// File of the shortlist.
pub(super) const SHORTLIST: &str = "shortlist.bin";

/// File of the tokenizer of both sides.
pub const TOKENIZER: &str = "tokenizer.json";

/// File of the source tokenizer.
pub const SRC_TOKENIZER: &str = "src_tokenizer.json";

/// File of the target tokenizer.
pub const TGT_TOKENIZER: &str = "tgt_tokenizer.json";
