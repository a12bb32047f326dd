//! The header, and a program in C that uses the library.

#![expect(clippy::print_stderr, reason = "a skipped check prints its reason")]

#[path = "../../../transformer-core/tests/it/weights.rs"]
#[expect(dead_code, reason = "only the tests of transformer-core use the rest")]
mod weights;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use burn::module::Module;
use transformer_core::directory::{ModelDirectory, ModelParts, Tokenizers};
use transformer_core::text::{Tokenizer, TokenizerConfig, TokenizerKind};
use transformer_core::{TransformerConfig, device};
use transformer_infer::Translator;

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

/// Sentences that the library translates as lines.
const LINES: [&str; 3] = ["a bad cab", "feed a cab", "d"];

/// Writes a small model with given weights, and opens it.
fn model(path: &Path) -> Translator {
    let config = TokenizerConfig {
        kind: TokenizerKind::Char,
        ..TokenizerConfig::default()
    };
    let tokenizer = Tokenizer::train(&config, &LINES).expect("the lines are not blank");
    let n_tokens = tokenizer.vocab_size();
    let config = TransformerConfig {
        d_model: 24,
        d_ff: 40,
        n_heads: 3,
        n_encoder_layers: 2,
        n_decoder_layers: 2,
        ..TransformerConfig::tiny(n_tokens, n_tokens)
    };
    let (_, device) = device::choose(None).expect("flex is a feature");
    let weights = weights::random_model(&config, &device, 3).into_record();
    let parts = ModelParts {
        config: &config,
        tokenizers: &Tokenizers::Joint(tokenizer),
        weights: &weights.into_bytes().expect("weights fit in memory"),
        training: serde_json::json!({ "updates": 0 }),
    };
    ModelDirectory::write(path, &parts).expect("the temporary directory is writable");
    Translator::open(path, &device).expect("the model was just written")
}

/// Returns the folder of the shared library, which cargo builds for this test.
fn library_folder() -> PathBuf {
    let test = std::env::current_exe().expect("the system knows this program");
    test.parent().expect("programs are in a folder").to_owned()
}

/// Compiles a program in C with the library; `None` if the compiler refuses the flags.
fn compile(source: &str, program: &Path, flags: &[&str]) -> Option<()> {
    let folder = library_folder();
    let mut compiler = Command::new("cc");
    compiler
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pthread"])
        .args(flags)
        .arg(Path::new(PACKAGE).join(source))
        .arg("-I")
        .arg(Path::new(PACKAGE).join("include"))
        .arg("-L")
        .arg(&folder)
        .args(["-ltransformer", "-o"])
        .arg(program)
        .arg(format!("-Wl,-rpath,{}", folder.display()));
    let output = compiler.output().expect("Rust needs a compiler of C, too");
    if !output.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    }
    output.status.success().then_some(())
}

fn printed(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {stderr}", output.status);
    String::from_utf8(output.stdout.clone()).expect("translations are UTF-8")
}

/// Returns whether a number of JSON is this one; reading may change its last digit.
fn is_read_as(number: &serde_json::Value, expected: f64) -> bool {
    let number = number.as_f64();
    number.is_some_and(|it| (it - expected).abs() <= 1e-14 * expected.abs())
}

#[test]
fn the_header_is_that_of_the_functions() {
    let config = cbindgen::Config::from_file(Path::new(PACKAGE).join("cbindgen.toml"));
    let bindings = cbindgen::Builder::new()
        .with_src(Path::new(PACKAGE).join("src/lib.rs"))
        .with_config(config.expect("cbindgen.toml is valid"))
        .generate();
    let mut written = Vec::new();
    bindings.expect("the functions are C's").write(&mut written);
    let written = String::from_utf8(written).expect("a header is text");
    let header = Path::new(PACKAGE).join("include/transformer.h");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&header, &written).expect("the repository is writable");
    }
    let header = fs::read_to_string(header).expect("the header is committed");
    assert!(
        header == written,
        "include/transformer.h is out of date; run UPDATE=1 cargo test -p transformer-c\n{written}"
    );
}

#[test]
fn the_example_translates() {
    let folder = tempfile::tempdir().expect("the system has temporary directories");
    let directory = folder.path().join("model");
    let translator = model(&directory);
    let program = folder.path().join("translate");
    compile("examples/translate.c", &program, &[]).expect("the example is C99");
    let text = LINES.join("\n");
    let output = Command::new(&program)
        .arg(&directory)
        .arg(&text)
        .arg(r#"{"split": "lines", "check": false}"#)
        .output();
    let translations = translator
        .translate(&LINES)
        .expect("the weights are finite");
    let expected: Vec<_> = translations
        .iter()
        .map(transformer_infer::Translation::text)
        .collect();
    assert!(expected.iter().any(|text| !text.is_empty()));
    assert_eq!(
        printed(&output.expect("it was just compiled")),
        expected.join("\n") + "\n"
    );
    let output = Command::new(&program)
        .arg(folder.path().join("absent"))
        .arg("a")
        .output();
    let stderr = output.expect("it was just compiled").stderr;
    assert!(String::from_utf8_lossy(&stderr).contains("absent"));
}

/// Compares lines with scores and alignments, from several threads, and every refusal. With the address sanitizer, which
/// also finds strings that nobody frees.
#[test]
fn a_program_in_c_gets_the_same_as_rust() {
    let folder = tempfile::tempdir().expect("the system has temporary directories");
    let directory = folder.path().join("model");
    let translator = model(&directory);
    let program = folder.path().join("interface");
    let flags = ["-g", "-fsanitize=address", "-fno-omit-frame-pointer"];
    if compile("tests/interface.c", &program, &flags).is_none() {
        eprintln!("skipped: the address sanitizer, which the compiler refuses, see above");
        compile("tests/interface.c", &program, &[]).expect("the test is C99");
    }
    let output = Command::new(&program)
        .arg(&directory)
        .output()
        .expect("it was just compiled");
    let printed = printed(&output);
    let reply: serde_json::Value = serde_json::from_str(&printed).expect("the reply is JSON");
    let search = transformer_infer::search::Search {
        beam_size: 3,
        n_best: 2,
        ..translator.search().clone()
    };
    let expected = translator
        .translate_with(&LINES, &search)
        .expect("the weights are finite");
    let alignments = translator.alignments(&LINES, &expected, Default::default());
    let alignments = alignments.expect("the weights are finite");
    let lines = reply.as_array().expect("the reply is an array");
    assert_eq!(lines.len(), LINES.len());
    for ((line, expected), alignments) in lines.iter().zip(&expected).zip(&alignments) {
        let candidates = line["candidates"]
            .as_array()
            .expect("candidates are an array");
        assert_eq!(candidates.len(), 2);
        for ((candidate, expected), alignment) in
            candidates.iter().zip(&expected.candidates).zip(alignments)
        {
            assert_eq!(candidate["text"], expected.text.as_str());
            assert!(is_read_as(&candidate["score"], expected.hypothesis.score));
            assert!(is_read_as(
                &candidate["log_prob"],
                expected.hypothesis.log_prob
            ));
            assert_eq!(candidate["finished"], expected.hypothesis.finished);
            assert_eq!(candidate["alignment"], serde_json::json!(alignment.pairs));
        }
    }
}
