//! The order of the folders in each crate's `src`, and the circles of imports that are allowed.

/// The entries of each crate's `src`: each may import those before it, and none behind it.
///
/// A file `name.rs` and a folder `name/` are both listed as `name`. `lib.rs` and `main.rs` come last.
pub(super) const ORDERS: [(&str, &[&str]); 3] = [
    (
        "transformer-core",
        &[
            "random",
            "files",
            "text",
            "config",
            "device",
            "cpu",
            "padded",
            "model",
            "directory",
            "packed",
            "import",
            "export",
        ],
    ),
    (
        "transformer-infer",
        &[
            "program",
            "xml",
            "metrics",
            "search",
            "scorer",
            "batch",
            "translator",
            "attention",
            "scheduler",
            "document",
            "serve",
            "commands",
        ],
    ),
    (
        "transformer-train",
        &[
            "progress",
            "tasks",
            "config",
            "corpus",
            "batching",
            "optim",
            "step",
            "validation",
            "checkpoint",
            "report",
            "run",
            "cli",
        ],
    ),
];

/// Folders of a crate that must not import each other, though the order allows it: the user and the used.
pub(super) const APART: [(&str, &str, &str); 1] = [("transformer-core", "model", "text")];

/// Crates without an order of their own; circles between their files are refused too.
pub(super) const UNORDERED: [&str; 1] = ["xtask"];

/// Imports that may close a circle of files: the two files from the root, and the reason.
pub(super) const ALLOWED: [(&str, &str, &str); 0] = [];
