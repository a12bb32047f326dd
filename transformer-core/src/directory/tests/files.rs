//! The promises of a model directory: intact or refused, the old model or the new one.

use std::error::Error;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use super::super::{
    DirectoryError, FileEntry, ModelDirectory, ModelParts, Precision, Tokenizers, write,
};
use crate::config::{TransformerConfig, Tying};
use crate::text::{Tokenizer, TokenizerConfig, TokenizerKind};

pub(super) type Outcome = Result<(), Box<dyn Error>>;

/// A model to write. Its weights may be any bytes, because nothing here loads them.
struct Model {
    config: TransformerConfig,
    tokenizers: Tokenizers,
    weights: Vec<u8>,
}

impl Model {
    fn parts(&self) -> ModelParts<'_> {
        let Self {
            config,
            tokenizers,
            weights,
        } = self;
        ModelParts {
            config,
            tokenizers,
            weights,
            training: json!({"bleu": 38.5}),
        }
    }
}

fn tokenizer(lines: &[&str]) -> Result<Tokenizer, Box<dyn Error>> {
    let config = TokenizerConfig {
        kind: TokenizerKind::Word,
        ..TokenizerConfig::default()
    };
    Ok(Tokenizer::train(&config, lines)?)
}

fn joint(weights: &[u8]) -> Result<Model, Box<dyn Error>> {
    let tokenizers = Tokenizers::Joint(tokenizer(&["ein Haus", "a house"])?);
    Ok(Model {
        config: TransformerConfig::base(8, 8),
        tokenizers,
        weights: weights.to_vec(),
    })
}

fn separate(weights: &[u8]) -> Result<Model, Box<dyn Error>> {
    let (src, tgt) = (tokenizer(&["ein Haus am See"])?, tokenizer(&["a house"])?);
    let config = TransformerConfig::base(8, 6);
    Ok(Model {
        config,
        tokenizers: Tokenizers::Separate { src, tgt },
        weights: weights.to_vec(),
    })
}

/// Returns a directory with a model in it.
pub(super) fn written() -> Result<TempDir, Box<dyn Error>> {
    let directory = tempdir()?;
    ModelDirectory::write(&directory, &joint(b"old weights")?.parts())?;
    Ok(directory)
}

fn weights(path: impl AsRef<Path>) -> Result<Vec<u8>, Box<dyn Error>> {
    Ok(fs::read(ModelDirectory::open(path)?.weights_path())?)
}

fn names(path: impl AsRef<Path>) -> Result<Vec<String>, Box<dyn Error>> {
    let entries = fs::read_dir(path)?.collect::<Result<Vec<_>, _>>()?;
    let mut names: Vec<_> = entries
        .iter()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

/// Changes the manifest as JSON.
pub(super) fn edit_manifest(path: &Path, edit: impl FnOnce(&mut Value)) -> Outcome {
    let file = path.join("manifest.json");
    let mut manifest = serde_json::from_slice(&fs::read(&file)?)?;
    edit(&mut manifest);
    Ok(fs::write(file, manifest.to_string())?)
}

/// Replaces a file of the model and updates the manifest to match.
pub(super) fn replace_file(path: &Path, key: &str, content: &str) -> Outcome {
    let name = format!("{key}.json");
    fs::write(path.join(&name), content)?;
    let entry = FileEntry::new(name, content.as_bytes());
    edit_manifest(path, |manifest| manifest["files"][key] = json!(entry))
}

pub(super) fn message(path: &Path) -> String {
    ModelDirectory::open(path).map_or_else(|error| error.to_string(), |_| "no error".to_owned())
}

#[test]
fn a_joint_model_is_read_as_it_was_written() -> Outcome {
    let directory = tempdir()?;
    let model = joint(b"weights")?;
    ModelDirectory::write(&directory, &model.parts())?;
    let read = ModelDirectory::open(&directory)?;
    assert_eq!(read.config(), &model.config);
    assert_eq!(
        read.tokenizers().src().to_json(),
        model.tokenizers.src().to_json()
    );
    assert_eq!(read.manifest().training, json!({"bleu": 38.5}));
    assert_eq!(fs::read(read.weights_path())?, b"weights");
    let plain = [
        "config.json",
        "manifest.json",
        "tokenizer.json",
        "weights.bpk",
    ];
    assert_eq!(names(&directory)?, plain);
    Ok(())
}

#[test]
fn a_model_with_two_vocabularies_is_read_as_it_was_written() -> Outcome {
    let directory = tempdir()?;
    let model = separate(b"weights")?;
    ModelDirectory::write(&directory, &model.parts())?;
    let read = ModelDirectory::open(&directory)?;
    assert_eq!(
        read.tokenizers().src().to_json(),
        model.tokenizers.src().to_json()
    );
    assert_eq!(
        read.tokenizers().tgt().to_json(),
        model.tokenizers.tgt().to_json()
    );
    assert!(matches!(read.tokenizers(), Tokenizers::Separate { .. }));
    Ok(())
}

#[test]
fn a_directory_with_a_model_directory_inside_opens_that() -> Outcome {
    let run = tempdir()?;
    ModelDirectory::write(run.path().join("model"), &joint(b"weights")?.parts())?;
    assert_eq!(ModelDirectory::open(&run)?.path(), run.path().join("model"));
    Ok(())
}

#[test]
fn a_new_model_replaces_the_old_one_and_its_files() -> Outcome {
    let directory = written()?;
    fs::write(directory.path().join("notes.txt"), "mine")?;
    for round in 0..4u8 {
        ModelDirectory::write(&directory, &joint(&[round; 9])?.parts())?;
        assert_eq!(weights(&directory)?, [round; 9]);
        assert_eq!(names(&directory)?.len(), 5, "{:?}", names(&directory)?);
    }
    ModelDirectory::write(&directory, &separate(b"two")?.parts())?;
    assert_eq!(weights(&directory)?, b"two");
    assert!(!directory.path().join("tokenizer.json").exists());
    assert_eq!(
        fs::read_to_string(directory.path().join("notes.txt"))?,
        "mine"
    );
    Ok(())
}

#[test]
fn writing_the_same_model_again_changes_no_file() -> Outcome {
    let directory = written()?;
    let before = fs::metadata(directory.path().join("weights.bpk"))?.modified()?;
    ModelDirectory::write(&directory, &joint(b"old weights")?.parts())?;
    let after = fs::metadata(directory.path().join("weights.bpk"))?.modified()?;
    assert_eq!(before, after);
    Ok(())
}

#[test]
fn a_kill_before_the_manifest_leaves_the_old_model() -> Outcome {
    let directory = written()?;
    write::stage(directory.path(), &separate(b"new")?.parts(), Precision::F32)?;
    assert_eq!(weights(&directory)?, b"old weights");
    Ok(())
}

#[test]
fn a_kill_after_the_manifest_leaves_the_new_model() -> Outcome {
    let directory = written()?;
    let manifest = write::stage(directory.path(), &joint(b"new")?.parts(), Precision::F32)?;
    write::commit(directory.path(), &manifest)?;
    assert_eq!(weights(&directory)?, b"new");
    Ok(())
}

#[test]
fn leftovers_of_a_kill_are_removed_by_the_next_write() -> Outcome {
    let directory = written()?;
    write::stage(
        directory.path(),
        &joint(b"killed after its weights")?.parts(),
        Precision::F32,
    )?;
    fs::write(
        directory.path().join(".unfinished-weights.bpk"),
        "half a fi",
    )?;
    ModelDirectory::write(&directory, &joint(b"new")?.parts())?;
    assert_eq!(weights(&directory)?, b"new");
    assert_eq!(names(&directory)?.len(), 4, "{:?}", names(&directory)?);
    Ok(())
}

/// Blocks each file that a write creates, one after the other, with a directory of the same name.
#[test]
fn a_failure_at_any_file_leaves_the_old_model() -> Outcome {
    let new = separate(b"new")?;
    let hashed = tempdir()?;
    ModelDirectory::write(&hashed, &joint(b"other")?.parts())?;
    let staged = write::stage(hashed.path(), &new.parts(), Precision::F32)?;
    let entries = staged.files.iter().map(|entry| entry.name.as_str());
    for name in entries.chain(["manifest.json"]) {
        let directory = written()?;
        let obstacle = directory.path().join(format!(".unfinished-{name}"));
        fs::create_dir(&obstacle)?;
        let error = ModelDirectory::write(&directory, &new.parts()).expect_err(name);
        assert!(error.to_string().contains(name), "{error}");
        assert_eq!(weights(&directory)?, b"old weights", "{name}");
        fs::remove_dir(obstacle)?;
        ModelDirectory::write(&directory, &new.parts())?;
        assert_eq!(weights(&directory)?, b"new", "{name}");
    }
    Ok(())
}

#[test]
fn files_of_other_programs_are_not_overwritten() -> Outcome {
    let directory = tempdir()?;
    fs::write(
        directory.path().join("config.json"),
        "{\"of\": \"another program\"}",
    )?;
    fs::create_dir(directory.path().join("weights.bpk"))?;
    ModelDirectory::write(&directory, &joint(b"weights")?.parts())?;
    assert_eq!(weights(&directory)?, b"weights");
    let theirs = fs::read_to_string(directory.path().join("config.json"))?;
    assert_eq!(theirs, "{\"of\": \"another program\"}");
    Ok(())
}

#[test]
fn parts_that_do_not_fit_together_are_not_written() -> Outcome {
    let directory = written()?;
    let mut model = joint(b"new")?;
    model.config.src_vocab_size = 9;
    let error = ModelDirectory::write(&directory, &model.parts());
    assert!(matches!(
        error,
        Err(DirectoryError::Config { .. } | DirectoryError::VocabSize { .. })
    ));
    assert_eq!(weights(&directory)?, b"old weights");
    Ok(())
}

#[test]
fn two_vocabularies_of_equal_size_are_tied_only_if_their_tokens_are_equal() -> Outcome {
    let check = |src: &[&str], tgt: &[&str], tying| -> Outcome {
        let tokenizers = Tokenizers::Separate {
            src: tokenizer(src)?,
            tgt: tokenizer(tgt)?,
        };
        let config = TransformerConfig {
            tying,
            ..TransformerConfig::base(6, 6)
        };
        Ok(tokenizers.check_tying(&config)?)
    };
    let refused = check(&["ein Haus"], &["a house"], Tying::All).expect_err("no token is shared");
    let expected = "`tying = \"all\"` needs one vocabulary, but the token 4 is `Haus` of the source and `a` of \
                    the target; use a joint vocabulary or `tying = \"decoder\"`";
    assert_eq!(refused.to_string(), expected);
    check(&["ein Haus"], &["a house"], Tying::Decoder)?;
    check(&["ein Haus"], &["Haus ein"], Tying::All)?;
    Ok(())
}

#[test]
fn a_missing_directory_is_named() {
    assert_eq!(
        message(Path::new("/no/such/model")),
        "`/no/such/model` does not exist; give the directory that training wrote"
    );
}

#[test]
fn a_directory_without_a_model_is_refused() -> Outcome {
    let directory = tempdir()?;
    assert!(message(directory.path()).contains("is not a model directory"));
    Ok(())
}

#[test]
fn a_newer_format_is_refused_before_its_fields_are_read() -> Outcome {
    let directory = written()?;
    edit_manifest(directory.path(), |manifest| {
        *manifest = json!({"format": 3, "parts": []});
    })?;
    let message = message(directory.path());
    assert!(
        message.contains("has format 3, this program reads up to 2"),
        "{message}"
    );
    Ok(())
}

#[test]
fn a_changed_byte_is_detected() -> Outcome {
    let directory = written()?;
    fs::write(directory.path().join("weights.bpk"), b"0ld weights")?;
    let message = message(directory.path());
    assert!(
        message.contains("weights.bpk` does not match its SHA-256"),
        "{message}"
    );
    Ok(())
}

#[test]
fn a_truncated_file_is_detected() -> Outcome {
    let directory = written()?;
    fs::write(directory.path().join("weights.bpk"), b"old weight")?;
    let message = message(directory.path());
    assert!(
        message.contains("has 10 bytes, but manifest.json says 11"),
        "{message}"
    );
    Ok(())
}

#[test]
fn a_missing_file_is_detected() -> Outcome {
    let directory = written()?;
    fs::remove_file(directory.path().join("tokenizer.json"))?;
    let message = message(directory.path());
    assert!(message.contains("tokenizer.json` is missing"), "{message}");
    Ok(())
}

#[test]
fn a_tokenizer_of_another_model_is_detected() -> Outcome {
    let directory = written()?;
    let other = tokenizer(&["ein anderer Satz"])?;
    replace_file(directory.path(), "tokenizer", &other.to_json())?;
    let message = message(directory.path());
    assert!(
        message.contains("has 7 tokens, but the model was made for `src_vocab_size` = 8"),
        "{message}"
    );
    Ok(())
}

#[test]
fn a_joint_vocabulary_needs_equal_sizes() -> Outcome {
    let directory = written()?;
    let Model { config, .. } = separate(b"")?;
    replace_file(directory.path(), "config", &serde_json::to_string(&config)?)?;
    let message = message(directory.path());
    assert!(message.contains("`tgt_vocab_size` = 6"), "{message}");
    Ok(())
}

#[test]
fn an_invalid_configuration_is_detected() -> Outcome {
    let directory = written()?;
    let config = TransformerConfig {
        n_heads: 0,
        ..TransformerConfig::base(8, 8)
    };
    replace_file(directory.path(), "config", &serde_json::to_string(&config)?)?;
    assert!(message(directory.path()).contains("config.json` is not a valid configuration"));
    Ok(())
}

#[test]
fn invalid_json_is_detected() -> Outcome {
    let directory = written()?;
    replace_file(directory.path(), "config", "{")?;
    assert!(message(directory.path()).contains("config.json` cannot be parsed"));
    replace_file(directory.path(), "tokenizer", "{")?;
    fs::write(directory.path().join("manifest.json"), "{")?;
    assert!(message(directory.path()).contains("manifest.json` cannot be parsed"));
    Ok(())
}

#[test]
fn files_outside_the_directory_are_refused() -> Outcome {
    for name in [
        "../weights.bpk",
        "/etc/passwd",
        "a/b",
        "..",
        ".",
        "",
        "manifest.json",
    ] {
        let directory = written()?;
        edit_manifest(directory.path(), |manifest| {
            manifest["files"]["weights"]["name"] = json!(name);
        })?;
        let message = message(directory.path());
        assert!(
            message.contains("only plain file names are allowed"),
            "{name}: {message}"
        );
    }
    Ok(())
}

#[test]
fn a_manifest_with_one_of_two_tokenizers_is_refused() -> Outcome {
    let directory = written()?;
    edit_manifest(directory.path(), |manifest| {
        manifest["files"]["src_tokenizer"] = manifest["files"]["tokenizer"].take();
    })?;
    assert!(message(directory.path()).contains("must name either `tokenizer` or both"));
    Ok(())
}
