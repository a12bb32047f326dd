//! The list of classes.

use super::case::Class;
use super::{clocks, disks, documents, imports, kills, models, resumes, runs, settings, texts};

/// Every class, in the order in which they attack.
pub(super) const CLASSES: [Class; 10] = [
    Class {
        name: "texts",
        about: "generated text through every command that reads text",
        n_short: 600,
        n_long: |_| Ok(12_000),
        attempt: texts::attempt,
    },
    Class {
        name: "documents",
        about: "documents and glossaries that are damaged, cut, long or of another format",
        n_short: 200,
        n_long: documents::n_attempts,
        attempt: documents::attempt,
    },
    Class {
        name: "models",
        about: "model directories with damaged, missing and exchanged files",
        n_short: 2000,
        n_long: models::n_attempts,
        attempt: models::attempt,
    },
    Class {
        name: "imports",
        about: "damaged models of other software",
        n_short: 800,
        n_long: imports::n_attempts,
        attempt: imports::attempt,
    },
    Class {
        name: "settings",
        about: "foolish values of every setting",
        n_short: 1200,
        n_long: settings::n_attempts,
        attempt: settings::attempt,
    },
    Class {
        name: "resumes",
        about: "interrupted runs that are resumed with one setting changed",
        n_short: 400,
        n_long: resumes::n_attempts,
        attempt: resumes::attempt,
    },
    Class {
        name: "runs",
        about: "runs with a damaged file that are resumed",
        n_short: 150,
        n_long: runs::n_attempts,
        attempt: runs::attempt,
    },
    Class {
        name: "kills",
        about: "signals at the moments of a save",
        n_short: 40,
        n_long: kills::n_attempts,
        attempt: kills::attempt,
    },
    Class {
        name: "disks",
        about: "full and read-only disks, and missing rights",
        n_short: 104,
        n_long: disks::n_attempts,
        attempt: disks::attempt,
    },
    Class {
        name: "clocks",
        about: "files from the past and the future, and clocks that were set",
        n_short: 40,
        n_long: clocks::n_attempts,
        attempt: clocks::attempt,
    },
];
