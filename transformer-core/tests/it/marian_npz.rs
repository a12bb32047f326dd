//! Import of Marian's `.npz` files. `tests/fixtures/marian/generate_npz.py` wrote the model, with ids and logits of plain
//! arithmetic that agree with those of Transformers.

use std::fs;
use std::io::{Cursor, Write};

use transformer_core::directory::Tokenizers;
use transformer_core::import::Marian;
use transformer_core::import::marian::binary::read_npz;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::marian::{check_logits, fixture, read};
use crate::marian_binary::{check_text, with_cause};

const MODEL: &str = "opus.model1.npz";
const VOCABULARY: &str = "opus.vocab.yml";

#[test]
fn logits_of_an_npz_file_are_those_of_plain_arithmetic() {
    check_logits(fixture("npz").path());
}

#[test]
fn pieces_have_the_ids_of_the_vocabulary_in_yaml() {
    check_text(fixture("npz").path());
}

#[test]
fn search_settings_files_and_languages_are_read() {
    let folder = fixture("npz");
    let named = folder.path().join("opus-mt-en-de");
    fs::create_dir(&named).expect("there is room");
    for name in [MODEL, VOCABULARY, "source.spm", "target.spm", "decoder.yml"] {
        fs::rename(folder.path().join(name), named.join(name)).expect("both are in one folder");
    }
    let from_folder = read(&named);
    let from_file = read(&named.join(MODEL));
    for marian in [from_folder, from_file] {
        assert_eq!(marian.generation.num_beams, Some(6));
        assert_eq!(marian.generation.length_penalty, 1.0);
        assert!(matches!(marian.tokenizers, Tokenizers::Separate { .. }));
        let Marian {
            languages, files, ..
        } = marian;
        let codes = [languages.src, languages.tgt].map(|code| code.map(|it| it.to_string()));
        assert_eq!(codes, ["en", "de"].map(|code| Some(code.to_owned())));
        assert_eq!(files, [MODEL, VOCABULARY, "decoder.yml"]);
    }
}

#[test]
fn without_search_settings_those_of_marians_decoder_hold() {
    let folder = fixture("npz");
    fs::remove_file(folder.path().join("decoder.yml")).expect("it was there");
    let generation = read(folder.path()).generation;
    assert_eq!(generation.num_beams, Some(12));
    assert_eq!(generation.length_penalty, 0.0);
    assert_eq!(generation.max_len_factor, Some(3.0));
}

#[test]
fn only_one_extension_is_removed_and_a_repeated_name_is_refused() {
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
    let array = [
        &b"\x93NUMPY\x01\x00"[..],
        &[header.len() as u8, 0][..],
        header.as_bytes(),
        &[0; 4],
    ]
    .concat();
    let read = |names: &[&str]| {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for name in names {
            let started = archive.start_file(*name, SimpleFileOptions::default());
            started.expect("memory is writable");
            archive.write_all(&array).expect("memory is writable");
        }
        let file = archive.finish().expect("memory is writable").into_inner();
        read_npz(&file)
    };
    let settings = "special:model.yml.npy";
    let (dict, _) = read(&["a.npy.npy", "a.npy", settings]).expect("all names differ");
    assert_eq!(dict.names().collect::<Vec<_>>(), ["a", "a.npy"]);
    for (names, index) in [
        (["a.npy", "a", settings], 1),
        ([settings, "a", "special:model.yml"], 2),
    ] {
        let error = read(&names).expect_err("a name is repeated").to_string();
        assert!(error.starts_with(&format!("array {index} ")), "{error}");
    }
}

#[test]
fn files_that_are_missing_damaged_or_of_another_model_are_named() {
    let folder = fixture("npz");
    let path = |name: &str| folder.path().join(name);
    let refused = |name: &str, content: &[u8]| {
        let before = fs::read(path(name)).expect("the generator wrote it");
        fs::write(path(name), content).expect("there is room");
        let error = with_cause(folder.path());
        fs::write(path(name), before).expect("there is room");
        assert!(error.contains(name) && !error.contains('\n'), "{error}");
        error
    };
    let vocabulary = fs::read_to_string(path(VOCABULARY)).expect("it is text");
    let (shorter, _) = vocabulary
        .trim_end()
        .rsplit_once('\n')
        .expect("it has many lines");
    assert!(
        refused(VOCABULARY, shorter.as_bytes())
            .contains("has 78 pieces, but `dim-vocabs` of the model is [79, 79]")
    );
    assert!(refused(VOCABULARY, b"a: 0\nb: 0\n").contains("line 2 of the vocabulary"));
    assert!(refused(MODEL, b"PK").contains("is not an `.npz` file"));
    assert!(refused("source.spm", b"x").contains("source.spm"));
    fs::remove_file(path("target.spm")).expect("it was there");
    assert!(with_cause(folder.path()).contains("target.spm"));
}

#[test]
fn an_npz_file_that_is_cut_off_or_changed_is_refused_or_read() {
    let bytes = fs::read(fixture("npz").path().join(MODEL)).expect("the generator wrote it");
    let (whole, settings) = read_npz(&bytes).expect("the generator wrote it");
    assert!(settings.starts_with("bert-train-type-embeddings: true\n"));
    assert_eq!(whole.names().count(), 60);
    for len in (0..bytes.len()).step_by(61) {
        assert!(read_npz(&bytes[..len]).is_err(), "{len} bytes");
    }
    for at in (0..bytes.len()).step_by(97) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x55;
        // It does not panic, and takes no more memory than a multiple of the file.
        let _ = read_npz(&changed);
    }
}
