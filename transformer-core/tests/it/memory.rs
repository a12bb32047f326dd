//! Models from files in memory, as a program has them that embeds a model or runs in a browser.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use burn::module::Module;
use transformer_core::directory::{ModelFiles, ModelParts, OnceFile, Precision, with_named_ids};
use transformer_core::import::Marian;
use transformer_core::packed::Workspace;
use transformer_core::text::{BOS, EOS};
use transformer_core::{ComputePrecision, ModelDirectory, PackedTransformer, Transformer};

use crate::ctranslate2_import;
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

fn once(files: &Contents, hash: impl Fn(&str) -> Option<String>) -> ModelFiles {
    let files = files.iter().map(|(name, content)| {
        let (content, sha256) = (content.to_vec(), hash(name));
        (name.clone(), OnceFile { content, sha256 })
    });
    files.collect()
}

#[test]
fn files_that_are_taken_once_make_the_model_on_disk() {
    let folder = fixture("binary");
    let files = directory(folder.path(), Precision::Int8);
    let path = folder.path().join("reduced");
    let load = |directory: &ModelDirectory| directory.load(&test_device());
    let (on_disk, expected) = ModelDirectory::open_with(path, load).expect("it is whole");
    let manifest = on_disk.manifest().files.weights.clone();
    let known = |name: &str| (name == manifest.name).then(|| manifest.sha256.clone());
    let (in_memory, found) =
        ModelDirectory::open_with(once(&files, known), load).expect("it is whole");
    assert_eq!(in_memory.shortlist(), on_disk.shortlist());
    assert_eq!(bytes(found), bytes(expected));
    let again = in_memory.load(&test_device()).expect_err("it was taken");
    assert!(again.to_string().contains("weights.bpk"), "{again}");
    // To open a directory only checks the weights.
    let opened = ModelDirectory::open(once(&files, |_| None)).expect("it is whole");
    assert!(opened.load(&test_device()).is_ok());
}

#[test]
fn files_that_are_taken_once_are_checked_by_their_hash() {
    let folder = fixture("binary");
    let mut files = directory(folder.path(), Precision::F32);
    let open = |files: ModelFiles| ModelDirectory::open(files).map_err(|error| error.to_string());
    assert!(open(once(&files, |_| None)).is_ok());
    let other = |name: &str| (name == "weights.bpk").then(|| "0".repeat(64));
    let refused = open(once(&files, other)).expect_err("the hash is another");
    assert!(refused.contains("weights.bpk") && refused.contains("does not match its SHA-256"));
    let weights = files.get_mut("weights.bpk").expect("it was written");
    weights.to_mut()[999] ^= 1;
    let refused = open(once(&files, |_| None)).expect_err("a byte is another");
    assert!(refused.contains("weights.bpk") && refused.contains("does not match its SHA-256"));
}

fn logits(model: &PackedTransformer) -> Vec<f32> {
    let mut workspace = Workspace::new();
    let mut state = model.begin(&[[5, 6, 7, EOS]], &mut workspace);
    model.step(&mut state, &[BOS], &mut workspace).to_vec()
}

#[test]
fn a_model_of_ctranslate2_that_is_packed_at_once_has_the_logits_of_the_module() {
    let pieces = [ctranslate2_import::fixture("sentencepiece.model")];
    for (name, stored) in [
        ("opennmt_f32", ComputePrecision::F32),
        ("opennmt_i16", ComputePrecision::F32),
        ("opennmt_i8", ComputePrecision::Int8),
    ] {
        let folder = ctranslate2_import::fixture(name);
        let model = ctranslate2_import::read(&folder).model;
        let found = Marian::read_packed_with_pieces(folder, &pieces, None);
        let found = found.expect("it has all files").model;
        assert_eq!(found.precision(), stored, "{name}");
        let expected = PackedTransformer::of(&model, stored);
        assert_eq!(logits(&found), logits(&expected), "{name}");
    }
}

#[test]
fn a_model_of_marian_that_is_packed_at_once_has_the_logits_of_the_module() {
    let folder = fixture("binary");
    let model = read(folder.path()).model;
    for precision in [ComputePrecision::Int8, ComputePrecision::F32] {
        let expected = logits(&PackedTransformer::of(&model, precision));
        let kept = ModelFiles::from_iter(contents(folder.path()));
        for files in [kept, once(&contents(folder.path()), |_| None)] {
            let found = Marian::read_packed(files, precision).expect("it has all files");
            assert_eq!(logits(&found.model), expected);
        }
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
