//! The bytes of a model for Bergamot, parsed as Marian parses them.

use std::fs;

use burn::tensor::TensorData;
use transformer_core::Padded;
use transformer_core::import::StateDict;
use transformer_core::text::EOS;

use crate::bergamot::{LINES, config, exported, joint};
use crate::model::test_device;
use crate::weights::random_model;

/// An array of the file: type, shape, offset of its data, and data.
type Array<'a> = (u64, &'a [u8], usize, &'a [u8]);

fn number(bytes: &[u8]) -> usize {
    u64::from_le_bytes(bytes.try_into().expect("8 bytes")) as usize
}

fn float(bytes: &[u8]) -> f32 {
    f32::from_le_bytes(bytes.try_into().expect("4 bytes"))
}

/// Parses a file as Marian does: it expects the arrays in the order of their headers.
fn parse(file: &[u8]) -> Vec<(&str, Array<'_>)> {
    assert_eq!(number(&file[..8]), 1);
    let n_arrays = number(&file[8..16]);
    let headers = file[16..16 + 32 * n_arrays].chunks_exact(32);
    let headers: Vec<Vec<usize>> = headers
        .map(|it| it.chunks_exact(8).map(number).collect())
        .collect();
    let mut at = 16 + 32 * n_arrays;
    let mut take = |n_bytes: usize| {
        at += n_bytes;
        (at - n_bytes, &file[at - n_bytes..at])
    };
    let names: Vec<&[u8]> = headers.iter().map(|header| take(header[0]).1).collect();
    let shapes: Vec<&[u8]> = headers.iter().map(|header| take(4 * header[2]).1).collect();
    let n_padding = number(take(8).1);
    take(n_padding);
    let arrays = headers
        .iter()
        .zip(names)
        .zip(shapes)
        .map(|((header, name), shape)| {
            let (offset, data) = take(header[3]);
            let name = str::from_utf8(name).expect("it is text");
            let name = name.strip_suffix('\0').expect("a zero ends it");
            (name, (header[1] as u64, shape, offset, data))
        });
    let arrays = arrays.collect();
    assert_eq!(at, file.len());
    arrays
}

#[test]
#[expect(clippy::too_many_lines, reason = "it reads one file from start to end")]
fn bytes_are_where_marian_looks_for_them() {
    let tokenizers = joint();
    let config = config(42);
    let model = random_model(&config, &test_device(), 5);
    let (folder, _) = exported(&model, &tokenizers);
    let file = fs::read(folder.path().join("out/model.ende.intgemm.alphas.bin"));
    let file = file.expect("it was written");
    let arrays = parse(&file);
    let names: Vec<&str> = arrays.iter().map(|(name, _)| *name).collect();
    assert!(names.is_sorted());
    assert!(
        arrays
            .iter()
            .all(|(_, (_, _, offset, data))| offset % 256 == 0 && data.len() % 256 == 0)
    );
    let array = |name: &str| {
        let found = arrays.iter().find(|(other, _)| *other == name);
        found.unwrap_or_else(|| panic!("no {name} in {names:?}")).1
    };
    // A matrix of integers is transposed, and its scale follows the integers.
    let (kind, shape, _, data) = array("encoder_l1_ffn_W1");
    assert_eq!((kind, shape), (0x4101, &[64, 0, 0, 0, 128, 0, 0, 0][..]));
    let scale = float(&data[64 * 128..][..4]);
    let weights = StateDict::from_model(&model);
    let inner = weights
        .tensor("encoder.layers.0.feed_forward.inner.weight")
        .expect("it is one");
    let inner: Vec<f32> = inner.iter::<f32>().collect();
    let largest = inner
        .iter()
        .fold(0.0, |largest: f32, it| largest.max(it.abs()));
    assert!((scale * largest - 127.0).abs() < 1e-3, "{scale}");
    for (row, column) in [(0, 0), (3, 100), (63, 127)] {
        let integer = f32::from(data[column * 64 + row].cast_signed());
        assert!(
            (integer - inner[row * 128 + column] * scale).abs() < 0.51,
            "{row} {column}"
        );
    }
    // Scales of activations: of the source's vectors, and of the encoder's output.
    let maxima = |of: &dyn Fn(&Padded) -> TensorData| -> f64 {
        let largest = LINES.map(|line| {
            let mut ids = tokenizers.src().encode(line);
            ids.push(EOS);
            let values = of(&Padded::new(&[ids], &test_device()));
            f64::from(
                values
                    .iter::<f32>()
                    .fold(0.0, |largest: f32, it| largest.max(it.abs())),
            )
        });
        let mean = largest.iter().sum::<f64>() / 3.0;
        let variance = largest.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / 3.0;
        127.0 / (mean + 1.1 * variance.sqrt())
    };
    let embedded = maxima(&|src| model.embed_src(src.ids()).into_data());
    let encoded = maxima(&|src| model.encode(src).states().clone().into_data());
    for (name, expected) in [
        ("encoder_l1_self_Wq", embedded),
        ("encoder_l1_self_Wv", embedded),
        ("decoder_l1_context_Wk", encoded),
        ("decoder_l2_context_Wv", encoded),
    ] {
        let (kind, _, _, data) = array(&format!("{name}_QuantMultA"));
        assert_eq!(kind, 0x404);
        let found = f64::from(float(&data[..4]));
        assert!(
            (found / expected - 1.0).abs() < 1e-4,
            "{name}: {found} {expected}"
        );
    }
}
