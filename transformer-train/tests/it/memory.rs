//! Text with endless lines, with lines at the limit, and files that unpack to gigabytes: a run ends soon, in an address
//! space that is bounded by the limit of a line.

use std::fs::File;
use std::num::NonZeroUsize;
use std::thread;

use transformer_core::lines::MAX_LINE_BYTES;

use crate::data::gzip;
use crate::workplace::{Ended, Workplace};

/// Address space of the program without text: its code, one heap, and room for one that is being made.
const PROGRAM_KIB: usize = 320 << 10;

/// Address space of a thread for each core.
const THREAD_KIB: usize = 10 << 10;

/// Bytes that a run may take for each byte of the longest line.
const BYTES_PER_BYTE: usize = 200;

/// Seconds of processors after which the system kills a run: on a busy computer they take longer, and are not more.
const MAX_CPU_SECONDS: usize = 60;

/// The arguments of a run that ends before the first update.
const DRY_RUN: [&str; 4] = ["--dry-run", "--plain", "--config", "run.toml"];

/// The arguments of one on the corpus of the workplace.
const ON_CORPUS: [&str; 8] = [
    "--dry-run",
    "--plain",
    "--config",
    "run.toml",
    "--src",
    "a.src",
    "--tgt",
    "b.tgt",
];

/// Makes a workplace with two megabytes of gzip that unpack to two gigabytes of zeros.
fn workplace() -> Workplace {
    let workplace = Workplace::new();
    workplace.write("bomb.gz", gzip(&vec![0; 64 << 20]).repeat(32));
    workplace
}

/// Runs the program in the address space that the longest line allows; standard input is the file.
fn run(workplace: &Workplace, arguments: &[&str], stdin: &str) -> Ended {
    let n_cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let of_text = (BYTES_PER_BYTE * MAX_LINE_BYTES) >> 10;
    let max_kib = PROGRAM_KIB + THREAD_KIB * n_cores + of_text;
    let limits = format!("ulimit -v {max_kib}; ulimit -t {MAX_CPU_SECONDS}");
    let script = format!("{limits}; exec \"$0\" \"$@\"");
    let program = env!("CARGO_BIN_EXE_transformer-train");
    let output = workplace
        .command("sh", &[&["-c", &script, program], arguments].concat())
        // Otherwise threads reserve address space for heaps of their own.
        .env("MALLOC_ARENA_MAX", "1")
        .env("RUST_BACKTRACE", "0")
        .stdin(File::open(workplace.path(stdin)).expect("the input is there"))
        .output();
    Ended::new(output.expect("the system has a shell"))
}

/// Runs with these arguments after those of [`DRY_RUN`], and checks that the first line of `name` is refused.
fn refuses_first_line(workplace: &Workplace, arguments: &[&str], stdin: &str, name: &str) {
    let ended = run(workplace, &[&DRY_RUN, arguments].concat(), stdin);
    let expected = format!("{name}, line 1 has more than 1048576 bytes, the limit of a line;");
    assert!(ended.failure().starts_with(&expected), "{ended:?}");
}

#[test]
fn an_endless_line_of_a_file_is_refused() {
    let workplace = workplace();
    for endless in ["bomb.gz", "/dev/zero"] {
        let name = format!("`{endless}`");
        for arguments in [
            ["--src", endless, "--tgt", "b.tgt"],
            ["--src", "a.src", "--tgt", endless],
        ] {
            refuses_first_line(&workplace, &arguments, "a.src", &name);
        }
        refuses_first_line(&workplace, &["--tsv", endless], "a.src", &name);
        for valid in [
            ["--valid-src", endless, "--valid-tgt", "b.tgt"],
            ["--valid-src", "a.src", "--valid-tgt", endless],
        ] {
            let arguments = [&ON_CORPUS[4..], &valid].concat();
            refuses_first_line(&workplace, &arguments, "a.src", &name);
        }
    }
}

#[test]
fn an_endless_line_of_standard_input_is_refused() {
    let workplace = workplace();
    for endless in ["bomb.gz", "/dev/zero"] {
        let arguments = ["--src", "-", "--tgt", "b.tgt"];
        refuses_first_line(&workplace, &arguments, endless, "standard input");
    }
}

#[test]
fn an_endless_line_of_word_vectors_is_refused() {
    let workplace = workplace();
    for endless in ["bomb.gz", "/dev/zero"] {
        let setting = format!("embeddings.src_word_vectors={endless}");
        let name = format!("`{endless}`");
        let arguments = [&ON_CORPUS[4..], &["--set", &setting]].concat();
        refuses_first_line(&workplace, &arguments, "a.src", &name);
    }
}

#[test]
fn endless_settings_are_refused() {
    let ended = run(&workplace(), &["--config", "/dev/zero"], "a.src");
    let message = ended.failure();
    assert!(
        message.starts_with("cannot read `/dev/zero`: "),
        "{message}"
    );
    assert!(
        message.contains("it has more than 1048576 bytes"),
        "{message}"
    );
}

#[test]
fn lines_above_the_limit_are_dropped_on_request_and_counted() {
    let workplace = Workplace::new();
    let long = "1".repeat(MAX_LINE_BYTES + 1);
    workplace.write("a.src", workplace.read("a.src") + &long + "\n1\n");
    workplace.write("b.tgt", workplace.read("b.tgt") + "1\n1\n");
    let ended = run(&workplace, &ON_CORPUS, "a.src");
    let message = ended.failure();
    assert!(
        message.starts_with("`a.src`, line 48 has more than 1048576 bytes"),
        "{message}"
    );
    assert!(
        message.ends_with("or set `data.long_lines` to `drop`"),
        "{message}"
    );
    let drop = [&ON_CORPUS[..], &["--set", "data.long_lines=drop"]].concat();
    let ended = run(&workplace, &drop, "a.src");
    let counts = "1 with a line above `data.max_line_bytes`, dropped";
    let lines = ended.lines();
    let data = lines
        .iter()
        .find(|line| line.starts_with("data "))
        .expect("counts are printed");
    assert!(
        data.contains("46 pairs read, 45 kept") && data.contains(counts),
        "{data}"
    );
}

#[test]
fn a_word_at_the_limit_takes_little_time_and_memory() {
    let workplace = Workplace::new();
    // Every pair of letters occurs often, and every longer part seldom.
    let mut state = 1_u32;
    let letters = (0..MAX_LINE_BYTES).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'a' + (state >> 24) as u8 % 26)
    });
    let word: String = letters.collect();
    workplace.write("a.src", workplace.read("a.src") + &word + "\n");
    workplace.write("b.tgt", workplace.read("b.tgt") + "1\n");
    for kind in ["char", "word", "bpe", "unigram"] {
        let kind = format!("tokenizer.kind={kind}");
        let size = "tokenizer.vocab_size=5000";
        let ended = run(
            &workplace,
            &[&ON_CORPUS[..], &["--set", &kind, "--set", size]].concat(),
            "a.src",
        );
        assert_eq!(ended.code, Some(0), "{kind}: {ended:?}");
    }
}

#[test]
fn lines_at_the_limit_are_not_in_memory_together() {
    let workplace = Workplace::new();
    let line = "1".repeat(MAX_LINE_BYTES) + "\n";
    workplace.write("a.src", gzip(line.as_bytes()).repeat(120));
    workplace.write("b.tgt", "1\n10\n11\n0\n".repeat(30));
    let few = [
        "--set",
        "data.tokenizer_sample=9",
        "--set",
        "data.valid_pairs=3",
    ];
    let ended = run(&workplace, &[&ON_CORPUS[..], &few].concat(), "a.src");
    let message = ended.failure();
    assert!(message.contains("too long, dropped"), "{message}");
}
