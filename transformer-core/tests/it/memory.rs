//! Models from files in memory, as a program has them that embeds a model or runs in a browser.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use burn::module::Module;
use transformer_core::directory::{ModelFiles, ModelParts, Precision, with_named_ids};
use transformer_core::import::Marian;
use transformer_core::{ModelDirectory, Transformer};

use crate::marian::{fixture, read};
use crate::model::test_device;

type Contents = BTreeMap<String, Cow<'static, [u8]>>;

fn contents(folder: &Path) -> Contents {
    let entries = fs::read_dir(folder).expect("the folder was written");
    let entries = entries.map(|entry| entry.expect("the folder is readable"));
    let content = |path| fs::read(path).expect("the file was written");
    entries
        .filter(|entry| entry.path().is_file())
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, content(entry.path()).into())
        })
        .collect()
}

fn bytes(model: Transformer) -> Vec<u8> {
    let bytes = with_named_ids(model).into_record().into_bytes();
    bytes.expect("memory is writable").to_vec()
}

/// Writes the directory of an imported model, with its shortlist.
fn directory(folder: &Path, precision: Precision) -> Contents {
    let marian = read(folder);
    let parts = ModelParts {
        config: &marian.config,
        tokenizers: &marian.tokenizers,
        weights: &bytes(marian.model),
        training: serde_json::Value::Null,
    };
    let path = folder.join("floats");
    ModelDirectory::write(&path, &parts).expect("there is room");
    let shortlist = marian.shortlist.expect("the model has one");
    ModelDirectory::add_shortlist(&path, &shortlist).expect("there is room");
    if precision == Precision::F32 {
        return contents(&path);
    }
    let floats = ModelDirectory::open(&path).expect("it was just written");
    let path = folder.join("reduced");
    let written = floats.write_quantized(&path, precision);
    contents(&written.expect("there is room"))
}

#[test]
fn a_model_directory_in_memory_is_that_on_disk() {
    for precision in [Precision::F32, Precision::Int8] {
        let folder = fixture("binary");
        let files = ModelFiles::from_iter(directory(folder.path(), precision));
        let path = folder.path().join(match precision {
            Precision::F32 => "floats",
            _ => "reduced",
        });
        let load = |directory: &ModelDirectory| directory.load(&test_device());
        let (on_disk, expected) = ModelDirectory::open_with(path, load).expect("it is whole");
        let (in_memory, found) = ModelDirectory::open_with(files, load).expect("it is whole");
        assert_eq!(in_memory.manifest(), on_disk.manifest());
        assert_eq!(in_memory.shortlist(), on_disk.shortlist());
        assert_eq!(bytes(found), bytes(expected));
    }
}

#[test]
fn damaged_and_missing_files_in_memory_are_refused_by_name() {
    let folder = fixture("binary");
    let whole = directory(folder.path(), Precision::F32);
    let message = |files: Contents| {
        let opened = ModelDirectory::open(ModelFiles::from_iter(files));
        opened.expect_err("a file is not as it was").to_string()
    };
    for name in [
        "config.json",
        "tokenizer.json",
        "shortlist.bin",
        "weights.bpk",
    ] {
        let with = |content: Option<Vec<u8>>| {
            let mut files = whole.clone();
            files.remove(name);
            files.extend(content.map(|content| (name.to_owned(), content.into())));
            message(files)
        };
        let mut content = whole[name].to_vec();
        assert!(with(None).starts_with(&format!("`(memory)/{name}` is missing")));
        content[9] ^= 1;
        let changed = with(Some(content.clone()));
        assert!(changed.contains(name) && changed.contains("does not match its SHA-256"));
        content.pop();
        let shorter = with(Some(content));
        assert!(shorter.contains(name) && shorter.contains("but manifest.json says"));
    }
    let none = message(Contents::new());
    assert!(none.contains("is not a model directory"), "{none}");
}

#[test]
fn a_model_of_marian_in_memory_is_that_of_the_folder() {
    for name in ["binary", "binary_separate"] {
        let folder = fixture(name);
        let files = ModelFiles::from_iter(contents(folder.path()));
        let found = Marian::read(files, &test_device()).expect("it has all files");
        let expected = read(folder.path());
        assert_eq!(found.config, expected.config);
        assert_eq!(found.generation, expected.generation);
        assert_eq!(found.languages, expected.languages);
        assert_eq!(found.shortlist, expected.shortlist);
        assert_eq!(found.files, expected.files);
        assert_eq!(bytes(found.model), bytes(expected.model));
        let mut files = contents(folder.path());
        files.retain(|name, _| !name.ends_with(".spm"));
        let error = Marian::read(ModelFiles::from_iter(files), &test_device());
        let error = error.expect_err("it has no vocabulary");
        assert!(error.to_string().contains("(memory)"), "{error}");
    }
}
