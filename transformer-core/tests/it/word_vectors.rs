//! Embeddings initialized with word vectors, and frozen embeddings.

use std::io::Write;
use std::path::PathBuf;

use burn::module::Module;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::Tensor;
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;
use transformer_core::Transformer;
use transformer_core::config::Tying;
use transformer_core::import::{WordVectors, WordVectorsError};
use transformer_core::text::{BOS, Tokenizer, TokenizerConfig, TokenizerKind};

use crate::loss::Labels;
use crate::model::{forward, random_model, test_device};
use crate::parameters::small;
use crate::weights::weights;

fn tokenizer() -> Tokenizer {
    let config = TokenizerConfig {
        kind: TokenizerKind::Word,
        ..TokenizerConfig::default()
    };
    Tokenizer::train(&config, ["cat dog", "cat"]).expect("there are words")
}

fn file(content: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("vectors.txt");
    std::fs::write(&path, content).expect("there is room");
    (folder, path)
}

fn read(content: &[u8]) -> Result<WordVectors, WordVectorsError> {
    let (_folder, path) = file(content);
    WordVectors::read(path, &tokenizer())
}

/// Returns the error message, without the folder.
fn refusal(content: &[u8]) -> String {
    let (folder, path) = file(content);
    let error = WordVectors::read(path, &tokenizer()).expect_err("the file is wrong");
    let folder = format!("{}/", folder.path().display());
    error.to_string().replace(&folder, "")
}

/// Returns the rows of `cat` and `dog` after the vectors replaced rows of a matrix of −1, and checks that the
/// other rows are still −1.
fn rows(vectors: &WordVectors) -> Vec<Vec<f32>> {
    let tokenizer = tokenizer();
    let shape = [tokenizer.vocab_size(), vectors.width()];
    let matrix = Tensor::<2>::full(shape, -1.0, &test_device());
    let matrix = vectors.replace_rows(matrix).expect("the widths are equal");
    let values: Vec<f32> = matrix.into_data().iter::<f32>().collect();
    let row = |word| {
        let id = tokenizer.id(word).expect("the word is known") as usize;
        values[id * vectors.width()..][..vectors.width()].to_vec()
    };
    let n_kept = values.iter().filter(|value| **value == -1.0).count();
    assert_eq!(
        n_kept,
        (tokenizer.vocab_size() - vectors.n_found()) * vectors.width()
    );
    vec![row("cat"), row("dog")]
}

#[test]
fn known_words_of_glove_get_their_rows() {
    let vectors = read(b"the 7 7 7\ndog 1 2.5 -3e-1\ncat 4 5 6\n").expect("it is well-formed");
    assert_eq!((vectors.n_found(), vectors.width()), (2, 3));
    assert_eq!(rows(&vectors), [[4.0, 5.0, 6.0], [1.0, 2.5, -0.3]]);
}

#[test]
fn the_header_of_word2vec_is_not_a_vector() {
    let vectors = read(b"3 2\n</s> 7 7 \ncat 1 2 \ncow 7 7 \n").expect("it is well-formed");
    assert_eq!((vectors.n_found(), vectors.width()), (1, 2));
    assert_eq!(rows(&vectors)[0], [1.0, 2.0]);
}

#[test]
fn a_byte_order_mark_belongs_to_no_word() {
    let glove = read("\u{feff}cat 1 2\n".as_bytes()).expect("it is well-formed");
    assert_eq!(rows(&glove)[0], [1.0, 2.0]);
    let word2vec = read("\u{feff}1 2\ncat 1 2\n".as_bytes()).expect("it is well-formed");
    assert_eq!(word2vec, glove);
}

#[test]
fn gzip_is_recognized_by_content() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(b"cat 1 2\n").expect("memory is writable");
    let gzip = gzip.finish().expect("memory is writable");
    assert_eq!(
        rows(&read(&gzip).expect("it is well-formed"))[0],
        [1.0, 2.0]
    );
}

#[test]
fn the_first_of_two_vectors_for_a_word_is_used() {
    let vectors = read(b"cat 1 2\ncat 3 4\n").expect("it is well-formed");
    assert_eq!(rows(&vectors)[0], [1.0, 2.0]);
}

#[test]
fn words_with_spaces_and_invalid_utf8_are_skipped() {
    let content = b"\xff\xfe 1 2\nat name@domain.com 1 2\ncat\xc2\xa0cat 3 4\ndog 5 6\n";
    let vectors = read(content).expect("it is well-formed");
    assert_eq!(vectors.n_found(), 1);
    assert_eq!(rows(&vectors)[1], [5.0, 6.0]);
}

#[test]
fn a_word_matches_the_piece_that_starts_a_word() {
    let config = TokenizerConfig {
        kind: TokenizerKind::Bpe,
        vocab_size: 30,
        ..TokenizerConfig::default()
    };
    let tokenizer = Tokenizer::train(&config, ["cat dog", "cat dog"]).expect("there are words");
    let (_folder, path) = file(b"cat 1 2\ncatdog 3 4\n");
    let vectors = WordVectors::read(path, &tokenizer).expect("it is well-formed");
    assert_eq!(vectors.n_found(), 1);
    let shape = [tokenizer.vocab_size(), 2];
    let matrix = vectors.replace_rows(Tensor::zeros(shape, &test_device()));
    let matrix = matrix.expect("the widths are equal").into_data();
    let id = tokenizer.encode("cat")[0] as usize;
    let row: Vec<f32> = matrix.iter::<f32>().skip(2 * id).take(2).collect();
    assert_eq!(row, [1.0, 2.0]);
}

#[test]
fn a_missing_value_is_reported() {
    assert_eq!(
        refusal(b"cat 1 2\ndog 3\n"),
        "`vectors.txt`, line 2: 1 values instead of 2; each line must be a word and its vector"
    );
}

#[test]
fn an_extra_value_is_reported() {
    assert_eq!(
        refusal(b"2 2\ncat 1 2\ndog 3 4 5\n"),
        "`vectors.txt`, line 3: 3 values instead of 2; each line must be a word and its vector"
    );
}

#[test]
fn an_invalid_value_is_reported_even_for_an_unknown_word() {
    assert_eq!(
        refusal(b"cat 1 2\nzebra 1 2,5\n"),
        "`vectors.txt`, line 2: `2,5` is not a finite number"
    );
}

#[test]
fn a_value_that_is_not_finite_is_reported() {
    assert_eq!(
        refusal(b"cat 1 nan\n"),
        "`vectors.txt`, line 1: `nan` is not a finite number"
    );
    assert_eq!(
        refusal(b"cat 1 2\nzebra 1 -inf\n"),
        "`vectors.txt`, line 2: `-inf` is not a finite number"
    );
    assert_eq!(
        refusal(b"cat 1 1e39\n"), // in single precision
        "`vectors.txt`, line 1: `1e39` is not a finite number"
    );
}

#[test]
fn a_truncated_file_is_refused() {
    assert_eq!(
        refusal(b"3 2\ncat 1 2\ndog 3 4\n"),
        "`vectors.txt` has 2 vectors, but its first line says 3; download it again"
    );
}

#[test]
fn an_empty_file_is_refused() {
    assert_eq!(
        refusal(b""),
        "`vectors.txt` has no vectors; give a text file of word2vec or GloVe"
    );
}

#[test]
fn vectors_of_another_width_are_refused() {
    let vectors = read(b"cat 1 2\n").expect("it is well-formed");
    let error = vectors.replace_rows(Tensor::zeros([6, 8], &test_device()));
    assert_eq!(
        error.expect_err("8 is not 2").to_string(),
        "the word vectors have 2 values, but `d_model` is 8; choose `d_model` = 2 or other vectors"
    );
}

#[test]
fn vectors_of_a_larger_vocabulary_are_refused() {
    let vectors = read(b"cat 1 2\n").expect("it is well-formed");
    let error = vectors.replace_rows(Tensor::zeros([4, 2], &test_device()));
    assert_eq!(
        error.expect_err("the first word has the id 4").to_string(),
        "a word vector is for token 4, but the model has 4 tokens; use the model's tokenizer"
    );
}

#[test]
fn the_root_mean_square_can_be_chosen() {
    let vectors = read(b"cat 1 -1\ndog 3 5\n").expect("it is well-formed");
    // √((1 + 1 + 9 + 25) / 4) = 3.
    assert_eq!(rows(&vectors.with_rms(6.0)), [[2.0, -2.0], [6.0, 10.0]]);
}

#[test]
fn a_preset_embedding_is_the_matrix_before_scaling() {
    let model = random_model(&small(Tying::All), 4);
    let doubled = model.src_embedding() * 2.0;
    let expected = doubled.to_data();
    let model = model.with_src_embedding(doubled);
    assert_eq!(model.src_embedding().into_data(), expected);
    assert_eq!(model.tgt_embedding().into_data(), expected);
    assert_eq!(model.output_weight().into_data(), expected);
}

#[test]
fn a_preset_target_embedding_does_not_change_the_source_embedding() {
    let model = random_model(&small(Tying::Decoder), 4);
    let (src, tgt) = (
        model.src_embedding().into_data(),
        model.tgt_embedding() * 2.0,
    );
    let expected = tgt.to_data();
    let model = model.with_tgt_embedding(tgt);
    assert_eq!(model.src_embedding().into_data(), src);
    assert_eq!(model.output_weight().into_data(), expected);
}

/// Takes three steps with Adam; between them the model changes mode and device, as in a training run.
fn train(mut model: Transformer) -> Transformer {
    let labels = [[8, 5, 12, 3], [6, 11, 4, 3]].map(|row| row.map(Some).to_vec());
    let labels = Labels::new(&labels, 13, 0.1);
    let src = [vec![4, 9, 10], vec![7]];
    let tgt = [vec![BOS, 8, 5, 12], vec![BOS, 6, 11, 4]];
    let mut optimizer = AdamConfig::new().init();
    let device = test_device().autodiff();
    for _ in 0..3 {
        let loss = labels.loss(forward(&model, &src, &tgt));
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(0.01, model, gradients);
        model = model.valid().train().fork(&device);
    }
    model.valid()
}

/// Returns the names of the parameters that training did not change, bit for bit. Biases of keys are left out:
/// they add the same value to all scores of a query, so their gradient is zero.
fn unchanged(before: &Transformer, after: &Transformer) -> Vec<String> {
    let bits = |values: &[f32]| {
        values
            .iter()
            .map(|value| value.to_bits())
            .collect::<Vec<_>>()
    };
    let after = weights(after);
    weights(before)
        .into_iter()
        .filter(|(name, entry)| bits(&entry.values) == bits(&after[name].values))
        .map(|(name, _)| name)
        .filter(|name| !name.ends_with("key.bias"))
        .collect()
}

#[test]
fn training_changes_everything_but_a_frozen_source_embedding() {
    let model = random_model(&small(Tying::None), 5);
    let after = train(model.clone().freeze_src_embedding().train());
    assert_eq!(unchanged(&model, &after), ["src_vocabulary.weight"]);
}

#[test]
fn training_changes_everything_but_a_frozen_target_embedding() {
    let model = random_model(&small(Tying::None), 5);
    let after = train(model.clone().freeze_tgt_embedding().train());
    assert_eq!(unchanged(&model, &after), ["tgt_vocabulary.weight"]);
}

#[test]
fn a_tied_frozen_embedding_is_frozen_in_all_its_uses() {
    let model = random_model(&small(Tying::All), 5);
    let after = train(model.clone().freeze_tgt_embedding().train());
    assert_eq!(unchanged(&model, &after), ["src_vocabulary.weight"]);
}

#[test]
fn an_embedding_can_be_frozen_during_training() {
    let model = random_model(&small(Tying::Decoder), 5);
    let after = train(model.clone().train().freeze_tgt_embedding());
    assert_eq!(unchanged(&model, &after), ["tgt_vocabulary.weight"]);
}

#[test]
fn a_preset_embedding_is_trained_unless_it_is_frozen() {
    let model = random_model(&small(Tying::None), 5).train();
    let doubled = model.src_embedding() * 2.0;
    let model = model.with_src_embedding(doubled);
    let after = train(model.clone());
    assert_eq!(unchanged(&model.valid(), &after), Vec::<String>::new());
}

#[test]
fn a_preset_of_a_frozen_embedding_stays_frozen() {
    let model = random_model(&small(Tying::None), 5).freeze_src_embedding();
    let doubled = model.src_embedding() * 2.0;
    let model = model.with_src_embedding(doubled);
    let after = train(model.clone().train());
    assert_eq!(unchanged(&model, &after), ["src_vocabulary.weight"]);
}

#[test]
fn a_frozen_embedding_stays_frozen_when_weights_are_loaded() {
    let model = random_model(&small(Tying::None), 5);
    let fresh = random_model(&small(Tying::None), 6).freeze_src_embedding();
    let loaded = fresh.try_load_record(model.clone().into_record());
    let loaded = loaded.expect("the record is of the same config");
    let after = train(loaded.train());
    assert_eq!(unchanged(&model, &after), ["src_vocabulary.weight"]);
}

#[test]
fn a_gzip_file_of_one_endless_line_is_refused() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..64 {
        gzip.write_all(&[b'7'; 1 << 16])
            .expect("memory is writable");
    }
    let content = gzip.finish().expect("memory is writable");
    assert_eq!(
        refusal(&content),
        "`vectors.txt`, line 1 has more than 1048576 bytes, the limit of a line; check that it is a text file, and \
         split the line"
    );
}
