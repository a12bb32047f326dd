//! Marian models, imported and run as a user does; the expected translations are those of Hugging Face's Transformers,
//! in transformer-core's fixtures.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use flate2::read::GzDecoder;
use serde::Deserialize;
use tempfile::TempDir;
use transformer_core::directory::{Languages, Tokenizers};
use transformer_infer::search::Search;
use transformer_infer::{BatchLimits, Translator, marian_search, translate_ids};

use transformer_core::import::Marian;
use transformer_core::text::LanguageCode;

use crate::command::{stderr, stdout};
use crate::model::test_device;

/// Most tokens of a translation, EOS included: the models have 32 positions, one of them for the start token.
const LIMIT: usize = 31;

#[derive(Deserialize)]
struct Goldens {
    lines: Vec<String>,
    src: Vec<Vec<u32>>,
    greedy: Vec<Vec<u32>>,
    beam: Vec<Vec<u32>>,
    /// Of a beam that renormalizes.
    renormalized: Vec<Vec<u32>>,
    decoded: Vec<String>,
}

/// Unpacks a folder of fixtures.
pub(crate) fn unpack(packed: &Path) -> TempDir {
    let folder = tempfile::tempdir().expect("there is room");
    for entry in fs::read_dir(packed).expect("the fixtures are there") {
        let path = entry.expect("the fixtures are there").path();
        let mut content = Vec::new();
        let file = File::open(&path).expect("the fixtures are there");
        let unpacked = GzDecoder::new(file).read_to_end(&mut content);
        unpacked.expect("the generator packed it");
        let name = path.file_stem().expect("every file has a name");
        fs::write(folder.path().join(name), content).expect("there is room");
    }
    folder
}

pub(crate) fn fixture(name: &str) -> TempDir {
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("../transformer-core");
    unpack(&core.join("tests/fixtures/marian").join(name))
}

fn goldens(folder: &Path) -> Goldens {
    let json = fs::read(folder.join("goldens.json")).expect("the generator wrote it");
    serde_json::from_slice(&json).expect("the generator writes the fields above")
}

/// The settings that Transformers was run with.
#[derive(Clone, Copy, Debug)]
enum Asked {
    Greedy,
    /// A beam of 4, with the generation settings of the model.
    Beam,
    /// A beam of 4 that renormalizes, whatever the settings of the model.
    Renormalized,
}

/// Returns the number of sentences with the same translation as Transformers, and the number of all.
fn n_same(folder: &Path, asked: Asked) -> (usize, usize) {
    let goldens = goldens(folder);
    let marian = Marian::read(folder, &test_device()).expect("the generator made it");
    let Tokenizers::Separate { src, tgt } = &marian.tokenizers else {
        panic!("each side has a model of its own");
    };
    let rows = tgt.pieces().expect("the tokenizer is Marian's").rows();
    let search = marian_search(&marian.generation, &marian.tokenizers);
    assert_eq!(search.beam_size, 4);
    let (search, expected) = match asked {
        Asked::Greedy => {
            let beam_size = 1;
            (
                Search {
                    beam_size,
                    ..search
                },
                &goldens.greedy,
            )
        }
        Asked::Beam => (search, &goldens.beam),
        Asked::Renormalized => {
            let renormalize = true;
            (
                Search {
                    renormalize,
                    ..search
                },
                &goldens.renormalized,
            )
        }
    };
    let lines = &goldens.lines[..expected.len()];
    let sources: Vec<Vec<u32>> = lines.iter().map(|line| src.encode(line)).collect();
    let limits = BatchLimits::for_model(&marian.config);
    let found = translate_ids(&marian.model, &sources, &search, &limits);
    let mut n_same = 0;
    let mut n_all = 0;
    for ((found, expected), src) in found.iter().zip(expected).zip(&goldens.src) {
        // An empty line stays empty here; Transformers translates its end.
        if src.len() < 2 {
            continue;
        }
        let ids = found[0].ids.iter();
        let ids: Vec<u32> = ids
            .map(|id| rows[*id as usize].expect("padding is never found"))
            .collect();
        n_all += 1;
        n_same += usize::from(&ids == expected);
    }
    (n_same, n_all)
}

#[test]
fn greedy_search_finds_what_transformers_finds() {
    for name in ["shared", "separate"] {
        let (n_same, n_all) = n_same(fixture(name).path(), Asked::Greedy);
        assert!(
            n_all >= 15 && n_same == n_all,
            "{name}: {n_same} of {n_all}"
        );
    }
}

#[test]
fn a_beam_of_four_finds_what_transformers_finds() {
    for name in ["shared", "separate"] {
        for asked in [Asked::Beam, Asked::Renormalized] {
            let (n_same, n_all) = n_same(fixture(name).path(), asked);
            assert!(
                n_all >= 15 && n_same == n_all,
                "{name}, {asked:?}: {n_same} of {n_all}"
            );
        }
    }
}

#[test]
fn a_beam_that_renormalizes_finds_something_else() {
    let goldens = goldens(fixture("shared").path());
    assert_ne!(goldens.beam, goldens.renormalized);
}

/// Like transformer-core's test of this name; prints the number of equal sentences.
#[test]
#[expect(clippy::print_stdout, reason = "the number is what is asked for")]
fn more_models_agree_where_they_were_made() {
    let Some(models) = std::env::var_os("MARIAN_MODELS").map(PathBuf::from) else {
        return;
    };
    for entry in fs::read_dir(models).expect("the folder is there") {
        let path = entry.expect("the folder is there").path();
        for asked in [Asked::Greedy, Asked::Beam, Asked::Renormalized] {
            let (n_same, n_all) = n_same(unpack(&path).path(), asked);
            println!("{}, {asked:?}: {n_same} of {n_all}", path.display());
            assert!(n_same as f64 >= 0.995 * n_all as f64);
        }
    }
}

fn run(folder: &Path, arguments: &[&str], input: &str) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_transformer-infer"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("cargo has built the program");
    let mut stdin = program.stdin.take().expect("it was asked for");
    // A program that fails may not read to the end.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    program.wait_with_output().expect("the program ends")
}

#[test]
fn two_commands_translate_as_transformers_does() {
    let folder = fixture("shared");
    let imported = run(
        folder.path(),
        &["import", "--from", ".", "--out", "model"],
        "",
    );
    assert!(imported.status.success(), "{}", stderr(&imported));
    let goldens = goldens(folder.path());
    let n_lines = goldens.decoded.len();
    let input: String = goldens.lines[..n_lines]
        .iter()
        .map(|line| line.clone() + "\n")
        .collect();
    let translated = run(folder.path(), &["translate", "--model", "model"], &input);
    assert!(translated.status.success(), "{}", stderr(&translated));
    let translated = stdout(&translated);
    assert_eq!(translated.len(), n_lines);
    let all = translated.iter().zip(&goldens.decoded).zip(&goldens.src);
    for ((ours, theirs), ids) in all.filter(|(_, ids)| ids.len() > 1) {
        assert_eq!(ours, theirs, "{ids:?}");
    }
}

#[test]
fn an_existing_model_is_not_replaced_without_overwrite() {
    let folder = fixture("shared");
    let import = ["import", "--from", ".", "--out", "model"];
    assert!(run(folder.path(), &import, "").status.success());
    let manifest = folder.path().join("model/manifest.json");
    let before = fs::read(&manifest).expect("it was written");
    let refused = run(folder.path(), &import, "");
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("`model` is not empty; choose another folder, or replace"));
    assert_eq!(fs::read(&manifest).ok(), Some(before));
    let again = [&import[..], &["--overwrite"]].concat();
    assert!(run(folder.path(), &again, "").status.success());

    // Where a run keeps its settings, beside its model.
    let before = fs::read(&manifest).expect("it was written");
    fs::write(folder.path().join("experiment.toml"), "").expect("there is room");
    for out in ["model", ".", "checkpoints"] {
        let import = ["import", "--from", ".", "--overwrite", "--out", out];
        let refused = run(folder.path(), &import, "");
        let expected = format!("`{out}` is a folder of a training run; choose another folder");
        assert!(stderr(&refused).contains(&expected), "{}", stderr(&refused));
    }
    assert_eq!(fs::read(&manifest).ok(), Some(before));
}

/// Imports a folder with flags, and returns the languages of the model.
fn imported_languages(folder: &Path, from: &str, flags: &[&str]) -> String {
    let import = ["import", "--from", from, "--overwrite", "--out", "model"];
    let output = run(folder, &[&import, flags].concat(), "");
    let summary = stdout(&output)[0].to_owned();
    let translator = Translator::open(folder.join("model"), &test_device());
    let translator = translator.expect("it was just written");
    let Languages { src, tgt } = translator.languages();
    let codes = [src, tgt].map(|code| code.as_ref().map_or("?", LanguageCode::as_str));
    let languages = codes.join(" to ");
    let is_known = !languages.contains('?');
    assert_eq!(summary.ends_with(&languages), is_known, "{summary}");
    languages
}

#[test]
fn languages_are_those_of_flags_then_of_the_tokenizer_then_of_the_folder() {
    let folder = fixture("shared");
    let named = folder.path().join("opus-mt-fr-it");
    fs::create_dir(&named).expect("there is room");
    for entry in fs::read_dir(folder.path()).expect("it was unpacked") {
        let path = entry.expect("it was unpacked").path();
        if path.is_file() {
            let name = path.file_name().expect("every file has a name");
            fs::copy(&path, named.join(name)).expect("there is room");
        }
    }
    let languages = |from, flags: &[&str]| imported_languages(folder.path(), from, flags);
    assert_eq!(languages(".", &[]), "? to ?");
    assert_eq!(languages("opus-mt-fr-it", &[]), "fr to it");
    let mut tokenizer: serde_json::Value = {
        let text = fs::read(named.join("tokenizer_config.json")).expect("it was unpacked");
        serde_json::from_slice(&text).expect("the generator wrote it")
    };
    tokenizer["source_lang"] = "eng".into();
    tokenizer["target_lang"] = "ROMANCE".into();
    fs::write(named.join("tokenizer_config.json"), tokenizer.to_string()).expect("there is room");
    assert_eq!(languages("opus-mt-fr-it", &[]), "eng to ?");
    assert_eq!(
        languages("opus-mt-fr-it", &["--tgt-lang", "pt-br"]),
        "eng to pt-BR"
    );
    assert_eq!(languages("opus-mt-fr-it", &["--src-lang", "en"]), "en to ?");
}

#[test]
fn flags_override_the_generation_settings_of_the_model() {
    let folder = fixture("shared");
    run(
        folder.path(),
        &["import", "--from", ".", "--out", "model"],
        "",
    );
    let goldens = goldens(folder.path());
    let at_limit = goldens.beam.iter().position(|ids| ids.len() + 1 == LIMIT);
    let line = goldens.lines[at_limit.expect("some run into the limit")].clone();
    let json = |arguments: &[&str]| {
        let flags = [
            &["translate", "--model", "model", "--json", "-q"],
            arguments,
        ]
        .concat();
        let output = run(folder.path(), &flags, &line);
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)[0].to_owned()
    };
    let as_imported = json(&[]);
    assert_eq!(
        as_imported,
        json(&[
            "--length-penalty",
            "power:1",
            "--max-len",
            "31",
            "--at-limit",
            "free-end",
            "--beam",
            "4"
        ])
    );
    for flags in [
        ["--length-penalty", "gnmt:0.6"],
        ["--at-limit", "cut"],
        ["--max-len", "20"],
    ] {
        assert_ne!(as_imported, json(&flags), "{flags:?}");
    }
}

#[test]
fn the_check_prints_the_largest_difference() {
    let folder = fixture("separate");
    let arguments = ["import", "--from", ".", "--check", "reference.safetensors"];
    let checked = run(folder.path(), &arguments, "");
    let lines = stdout(&checked);
    let number = lines[0].strip_prefix("largest difference of a logit: ");
    let number = number
        .and_then(|rest| rest.split(' ').next())
        .expect("a number follows");
    assert!(
        number.parse::<f32>().expect("it is a number") < 1e-4,
        "{lines:?}"
    );
}

#[test]
fn a_broken_folder_gives_an_error_of_one_line() {
    let folder = fixture("shared");
    fs::remove_file(folder.path().join("target.spm")).expect("it was there");
    let refused = run(
        folder.path(),
        &["import", "--from", ".", "--out", "model"],
        "",
    );
    assert_eq!(refused.status.code(), Some(1));
    let message = stderr(&refused);
    assert!(
        message.starts_with("error: `./target.spm` is missing;"),
        "{message}"
    );
    assert_eq!(message.trim_end().lines().count(), 1);
    assert!(!folder.path().join("model").exists());
}

/// The system limits the size of files: the weights do not fit.
#[cfg(unix)]
#[test]
fn an_import_or_export_onto_a_full_disk_can_be_repeated() {
    let folder = fixture("separate");
    let run_limited = |arguments: &str| {
        let script = format!("trap '' XFSZ; ulimit -f 24; exec \"$0\" {arguments}");
        let program = env!("CARGO_BIN_EXE_transformer-infer");
        let mut shell = Command::new("sh");
        let shell = shell
            .args(["-c", &script, program])
            .current_dir(folder.path());
        shell.output().expect("there is a shell")
    };
    for arguments in [
        "import --from . --out model",
        "export --model model --format hf-marian --out exported",
        "export --model model --format safetensors --out weights",
    ] {
        let failed = run_limited(arguments);
        assert!(
            stderr(&failed).contains("File too large"),
            "{arguments}: {}",
            stderr(&failed)
        );
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let again = run(folder.path(), &arguments, "");
        assert!(again.status.success(), "{arguments:?}: {}", stderr(&again));
    }
}
