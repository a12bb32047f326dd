//! Import of Marian models of Hugging Face's Transformers. `tests/fixtures/marian/generate_marian.py` wrote them, with
//! that program's ids, logits and translations.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde::Deserialize;
use tempfile::TempDir;
use transformer_core::import::Marian;
use transformer_core::import::marian::{EarlyStopping, Generation, Reference};
use transformer_core::text::Tokenizer;

use crate::model::test_device;

/// Absolute difference of logits, in single precision on both sides.
const TOLERANCE: f32 = 1e-4;

#[derive(Deserialize)]
struct Goldens {
    lines: Vec<String>,
    /// With EOS.
    src: Vec<Vec<u32>>,
    tgt: Vec<Vec<u32>>,
    beam: Vec<Vec<u32>>,
    decoded: Vec<String>,
}

/// Decompresses a folder of fixtures.
fn unpack(packed: &Path) -> TempDir {
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
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/marian");
    unpack(&fixtures.join(name))
}

fn goldens(folder: &Path) -> Goldens {
    let json = fs::read(folder.join("goldens.json")).expect("the generator wrote it");
    serde_json::from_slice(&json).expect("the generator writes the fields above")
}

pub(crate) fn read(folder: &Path) -> Marian {
    Marian::read(folder, &test_device()).unwrap_or_else(|error| panic!("{error:?}"))
}

pub(crate) fn refusal(folder: &Path) -> String {
    let error = Marian::read(folder, &test_device()).expect_err("the folder is broken");
    let whole = error.to_string();
    whole.replace(&folder.display().to_string(), "FOLDER")
}

/// Encodes a line to Marian's ids, with EOS.
pub(crate) fn marian_ids(tokenizer: &Tokenizer, line: &str) -> Vec<u32> {
    let pieces = tokenizer.pieces().expect("the tokenizer is Marian's");
    let row = |id: u32| pieces.rows()[id as usize].expect("text is never padding");
    let ids = tokenizer.encode(line).into_iter().map(row);
    ids.chain([pieces.special().eos]).collect()
}

fn check_ids(folder: &Path) {
    let goldens = goldens(folder);
    let marian = read(folder);
    let sides = [
        (marian.tokenizers.src(), &goldens.src),
        (marian.tokenizers.tgt(), &goldens.tgt),
    ];
    for (tokenizer, expected) in sides {
        for (line, expected) in goldens.lines.iter().zip(expected) {
            assert_eq!(&marian_ids(tokenizer, line), expected, "{line:?}");
        }
    }
}

fn check_text(folder: &Path) {
    let goldens = goldens(folder);
    let marian = read(folder);
    let tokenizer = marian.tokenizers.tgt();
    let pieces = tokenizer.pieces().expect("the tokenizer is Marian's");
    for (ids, expected) in goldens.beam.iter().zip(&goldens.decoded) {
        let our_id = |id: &u32| pieces.rows().iter().position(|row| *row == Some(*id));
        let ours = ids
            .iter()
            .map(|id| our_id(id).expect("every id has a row") as u32);
        assert_eq!(&tokenizer.decode(&ours.collect::<Vec<_>>()), expected);
    }
}

pub(crate) fn check_logits(folder: &Path) {
    let marian = read(folder);
    let reference = Reference::read(folder.join("reference.safetensors"));
    let reference = reference.expect("the generator wrote it");
    let difference = reference.compare(&marian.model, &marian.tokenizers, &test_device());
    let difference = difference.expect("the reference is of this model");
    assert!(difference.largest < TOLERANCE, "{difference:?}");
    assert!(difference.largest_logit > 1.0, "{difference:?}");
    assert!(difference.n_tokens >= 10, "{difference:?}");
    assert_eq!(difference.n_same_best, difference.n_tokens);
}

#[test]
fn a_joint_vocabulary_gives_marians_ids() {
    check_ids(fixture("shared").path());
}

#[test]
fn separate_vocabularies_give_marians_ids() {
    check_ids(fixture("separate").path());
}

#[test]
fn a_joint_vocabulary_decodes_to_marians_text() {
    check_text(fixture("shared").path());
}

#[test]
fn separate_vocabularies_decode_to_marians_text() {
    check_text(fixture("separate").path());
}

#[test]
fn a_model_with_one_shared_matrix_gives_equal_logits() {
    check_logits(fixture("shared").path());
}

#[test]
fn a_pickled_model_with_three_matrices_gives_equal_logits() {
    check_logits(fixture("separate").path());
}

/// Checks the models in the folder `MARIAN_MODELS`, if that variable is set. The generator writes them with `--out`,
/// with any number of lines.
#[test]
fn models_in_the_folder_of_the_environment_agree() {
    let Some(models) = std::env::var_os("MARIAN_MODELS").map(PathBuf::from) else {
        return;
    };
    for entry in fs::read_dir(models).expect("the folder is there") {
        let folder = unpack(&entry.expect("the folder is there").path());
        check_ids(folder.path());
        check_text(folder.path());
        check_logits(folder.path());
    }
}

#[test]
fn spans_cover_the_line() {
    let folder = fixture("shared");
    let marian = read(folder.path());
    let line = "  Good   morning, ½ everybody. ";
    let (ids, spans) = marian.tokenizers.src().encode_spans(line);
    assert_eq!(ids, marian.tokenizers.src().encode(line));
    let (first, last) = (&spans[0], &spans[spans.len() - 1]);
    assert_eq!((first.start, last.end), (2, line.len() - 1));
    assert!(
        spans.windows(2).all(|pair| pair[0].end == pair[1].start),
        "{spans:?}"
    );
}

#[test]
fn settings_for_decoding_are_read() {
    let folder = fixture("shared");
    let expected = Generation {
        num_beams: Some(4),
        // 32 in the file, which counts the first input of the decoder.
        max_len: Some(31),
        min_len: 0,
        no_repeat_ngram: None,
        max_len_factor: None,
        forces_end: true,
        forced_first: None,
        length_penalty: 1.0,
        early_stopping: EarlyStopping::Heuristic,
        banned: vec![vec![100]],
        renormalizes: false,
    };
    assert_eq!(read(folder.path()).generation, expected);
}

#[test]
fn a_missing_forced_eos_has_the_default_of_transformers_and_null_turns_it_off() {
    for (value, forces_end) in [(None, true), (Some(serde_json::Value::Null), false)] {
        let folder = fixture("shared");
        fs::remove_file(folder.path().join("generation_config.json")).expect("it was there");
        let path = folder.path().join("config.json");
        let json = fs::read(&path).expect("it is there");
        let mut json: serde_json::Value = serde_json::from_slice(&json).expect("it is JSON");
        let object = json.as_object_mut().expect("it is an object");
        match value {
            Some(value) => object.insert("forced_eos_token_id".to_owned(), value),
            None => object.remove("forced_eos_token_id"),
        };
        fs::write(&path, json.to_string()).expect("there is room");
        assert_eq!(read(folder.path()).generation.forces_end, forces_end);
    }
}

/// Sets a key in a JSON file of the folder.
pub(crate) fn set(folder: &Path, file: &str, key: &str, value: serde_json::Value) {
    let path = folder.join(file);
    let json = fs::read(&path).expect("it is there");
    let mut json: serde_json::Value = serde_json::from_slice(&json).expect("it is JSON");
    json[key] = value;
    fs::write(&path, json.to_string()).expect("there is room");
}

#[test]
fn renormalize_logits_and_early_stopping_never_are_read() {
    let folder = fixture("shared");
    let file = "generation_config.json";
    set(folder.path(), file, "renormalize_logits", true.into());
    set(folder.path(), file, "early_stopping", "never".into());
    let generation = read(folder.path()).generation;
    assert!(generation.renormalizes);
    assert_eq!(generation.early_stopping, EarlyStopping::Never);
}

#[test]
fn a_forced_token_other_than_eos_is_refused() {
    let folder = fixture("shared");
    set(
        folder.path(),
        "generation_config.json",
        "forced_eos_token_id",
        7.into(),
    );
    let message = refusal(folder.path());
    assert!(message.contains("`forced_eos_token_id` is 7"), "{message}");
}

#[test]
fn the_error_names_a_missing_file() {
    let files = [
        "config.json",
        "vocab.json",
        "source.spm",
        "target.spm",
        "model.safetensors",
    ];
    for name in files {
        let folder = fixture("shared");
        fs::remove_file(folder.path().join(name)).expect("it was there");
        let refusal = refusal(folder.path());
        let expected = format!("`FOLDER/{name}` is missing;");
        assert!(refusal.starts_with(&expected), "{refusal}");
    }
}

#[test]
fn truncated_weights_are_refused() {
    for (model, file) in [
        ("shared", "model.safetensors"),
        ("separate", "pytorch_model.bin"),
    ] {
        let folder = fixture(model);
        let path = folder.path().join(file);
        let whole = fs::read(&path).expect("it is there");
        fs::write(&path, &whole[..whole.len() * 2 / 3]).expect("there is room");
        let refusal = refusal(folder.path());
        assert!(
            refusal.starts_with(&format!("`FOLDER/{file}` is ")),
            "{refusal}"
        );
    }
}

/// Replaces a text in a JSON file.
fn edit(folder: &Path, name: &str, from: &str, to: &str) {
    let path = folder.join(name);
    let json = fs::read_to_string(&path).expect("it is there");
    assert!(json.contains(from), "{name} has no {from}");
    fs::write(path, json.replace(from, to)).expect("there is room");
}

#[test]
fn a_model_of_another_type_is_refused() {
    let folder = fixture("shared");
    edit(folder.path(), "config.json", "\"marian\"", "\"t5\"");
    assert_eq!(
        refusal(folder.path()),
        "`FOLDER/config.json` describes a model of the type `t5`; only `marian`, `m2m_100`, `mbart`, `bart` and `pegasus` \
         can be imported"
    );
}

#[test]
fn a_vocabulary_of_another_model_is_refused() {
    let folder = fixture("shared");
    edit(
        folder.path(),
        "vocab.json",
        "\"<pad>\": 100",
        "\"zebra\": 100, \"<pad>\": 101",
    );
    assert_eq!(
        refusal(folder.path()),
        "`FOLDER/vocab.json` has 102 tokens, but `vocab_size` in config.json is 101; take both from one model"
    );
}

#[test]
fn a_duplicate_id_is_refused() {
    let folder = fixture("shared");
    edit(
        folder.path(),
        "vocab.json",
        "\"<pad>\": 100",
        "\"<pad>\": 99",
    );
    let refusal = refusal(folder.path());
    assert!(
        refusal.starts_with("`FOLDER/vocab.json` has no token with the id 99, or two"),
        "{refusal}"
    );
}

#[test]
fn another_id_of_padding_than_in_the_settings_is_refused() {
    let folder = fixture("shared");
    edit(
        folder.path(),
        "config.json",
        "\"pad_token_id\": 100",
        "\"pad_token_id\": 7",
    );
    let refusal = refusal(folder.path());
    assert!(
        refusal.starts_with(
            "`FOLDER/vocab.json` gives `<pad>` the id 100, but `pad_token_id` in config.json is 7"
        ),
        "{refusal}"
    );
}

#[test]
fn weights_of_another_vocabulary_are_refused() {
    let folder = fixture("shared");
    edit(
        folder.path(),
        "vocab.json",
        "\"<pad>\": 100",
        "\"zebra\": 100, \"<pad>\": 101",
    );
    edit(
        folder.path(),
        "config.json",
        "\"vocab_size\": 101",
        "\"vocab_size\": 102",
    );
    for key in ["pad_token_id", "decoder_start_token_id"] {
        edit(
            folder.path(),
            "config.json",
            &format!("\"{key}\": 100"),
            &format!("\"{key}\": 101"),
        );
    }
    let refusal = refusal(folder.path());
    assert!(
        refusal.contains("has the shape [101, 18]; with config.json it must be [102, 18]"),
        "{refusal}"
    );
}

#[test]
fn the_error_for_an_unsupported_setting_lists_supported_values() {
    let folder = fixture("shared");
    edit(folder.path(), "config.json", "\"swish\"", "\"gelu_new\"");
    assert_eq!(
        refusal(folder.path()),
        "`FOLDER/config.json`: `activation_function` is `gelu_new`, which cannot be imported; swish, relu or \
         gelu can"
    );
}

#[test]
fn layers_that_the_settings_do_not_have_are_reported() {
    let folder = fixture("shared");
    edit(
        folder.path(),
        "config.json",
        "\"encoder_layers\": 2",
        "\"encoder_layers\": 1",
    );
    let refusal = refusal(folder.path());
    assert!(
        refusal.ends_with(
            "16 tensors differ, the first: `model.encoder.layers.1.fc1.bias` is left over; it has the shape \
             [30], and the model has no such tensor"
        ),
        "{refusal}"
    );
    assert!(!refusal.contains('\n'));
}

#[test]
fn a_pickle_that_would_run_code_is_refused() {
    let folder = fixture("separate");
    // The output of `pickle.dumps` in protocol 2 for {"lm_head.weight": X}, where loading X calls os.system.
    let pickle = b"\x80\x02}q\x00X\x0e\x00\x00\x00lm_head.weightq\x01cposix\nsystem\nq\x02\
        X\x04\x00\x00\x00trueq\x03\x85q\x04Rq\x05s.";
    fs::write(folder.path().join("pytorch_model.bin"), pickle).expect("there is room");
    assert_eq!(
        refusal(folder.path()),
        "`FOLDER/pytorch_model.bin` contains `lm_head.weight`, which is not a tensor; save the state dict alone"
    );
}

#[test]
fn weights_that_are_not_finite_are_refused_with_tensor_and_position() {
    let folder = fixture("shared");
    let path = folder.path().join("model.safetensors");
    let mut bytes = fs::read(&path).expect("the fixture has the file");
    let header_len = u64::from_le_bytes(*bytes.first_chunk().expect("the header has a length"));
    let header: serde_json::Value =
        serde_json::from_slice(&bytes[8..][..header_len as usize]).expect("the header is JSON");
    let name = "final_logits_bias";
    let tensor = &header[name];
    assert_eq!(tensor["dtype"], "F32");
    let start = tensor["data_offsets"][0].as_u64().expect("it is an offset") as usize;
    let value = 8 + header_len as usize + start + 4 * 5;
    bytes[value..][..4].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&path, bytes).expect("there is room");
    assert_eq!(
        refusal(folder.path()),
        format!(
            "`FOLDER/model.safetensors`: `{name}` is NaN at [0, 5], in single precision; every weight must be finite: \
             get the file again, or a checkpoint from before its training diverged"
        )
    );
}
