//! The checks of [`TransformerConfig::validate`].

use super::{ConfigError, Mixing, NormKind, TransformerConfig};
use crate::text::N_SPECIAL;

#[test]
fn heads_that_do_not_divide_are_refused_with_a_divisor() {
    let config = TransformerConfig {
        n_heads: 7,
        ..TransformerConfig::default()
    };
    let error = config.validate().expect_err("7 does not divide 512");
    assert_eq!(
        error.to_string(),
        "`n_heads` (7) does not divide `d_model` (512); choose a divisor, for example 8, or give \
         `d_k` and `d_v`"
    );
}

#[test]
fn heads_need_not_divide_the_width_if_their_widths_are_given() {
    let config = TransformerConfig {
        n_heads: 7,
        d_k: Some(16),
        d_v: Some(24),
        ..TransformerConfig::default()
    };
    assert_eq!(config.validate(), Ok(()));
    assert_eq!((config.head_d_k(), config.head_d_v()), (16, 24));
}

#[test]
fn tying_everything_needs_one_vocabulary() {
    let config = TransformerConfig {
        src_vocab_size: 5,
        ..TransformerConfig::default()
    };
    let tied = ConfigError::TyingAcrossVocabularies {
        src: 5,
        tgt: 37_000,
    };
    assert_eq!(config.validate(), Err(tied));
}

#[test]
fn a_vocabulary_of_special_tokens_only_is_refused() {
    let config = TransformerConfig::base(37_000, N_SPECIAL);
    let message = config.validate().expect_err("no word fits").to_string();
    assert_eq!(
        message,
        "`tgt_vocab_size` is 4; choose at least 5: the 4 special tokens and one more"
    );
}

#[test]
fn a_dropout_of_nan_is_refused() {
    let config = TransformerConfig {
        attention_dropout: f64::NAN,
        ..TransformerConfig::default()
    };
    let message = config.validate().expect_err("it is NaN").to_string();
    assert_eq!(
        message,
        "`attention_dropout` is NaN; choose at least 0 and less than 1"
    );
}

#[test]
fn a_dropout_of_one_is_refused() {
    let config = TransformerConfig {
        dropout: 1.0,
        ..TransformerConfig::default()
    };
    let message = config.validate().expect_err("1 drops all").to_string();
    assert_eq!(message, "`dropout` is 1; choose at least 0 and less than 1");
}

#[test]
fn unknown_keys_are_refused() {
    let read = serde_json::from_str::<TransformerConfig>(r#"{"n_head": 4}"#);
    assert!(read.is_err_and(|error| error.to_string().contains("n_head")));
}

#[test]
fn a_recurrence_has_no_window() {
    let config = TransformerConfig {
        decoder_mixing: Mixing::Ssru,
        decoder_window: Some(3),
        ..TransformerConfig::default()
    };
    let message = config.validate().expect_err("it has a window").to_string();
    assert_eq!(
        message,
        "`decoder_window` is 3; choose no window with `decoder_mixing = \"ssru\"`, which has no attention to limit"
    );
}

#[test]
fn a_position_beyond_all_tables_is_refused() {
    let config = TransformerConfig {
        first_position: usize::MAX,
        ..TransformerConfig::default()
    };
    let message = config.validate().expect_err("it overflows").to_string();
    let expected = format!(
        "`first_position` is {}; choose at most 16777216",
        usize::MAX
    );
    assert_eq!(message, expected);
}

#[test]
fn settings_that_older_programs_do_not_know_are_saved_if_they_are_not_the_default() {
    let keys = |config: &TransformerConfig| {
        let json = serde_json::to_value(config).expect("a config is numbers and names");
        let found = [
            "norm_kind",
            "first_position",
            "gated_feed_forward",
            "embedding_norm",
            "decoder_mixing",
        ];
        found.map(|key| json.get(key).is_some())
    };
    assert_eq!(keys(&TransformerConfig::default()), [false; 5]);
    let config = TransformerConfig {
        norm_kind: NormKind::Rms,
        first_position: 1,
        gated_feed_forward: true,
        embedding_norm: true,
        decoder_mixing: Mixing::Ssru,
        ..TransformerConfig::default()
    };
    assert_eq!(keys(&config), [true; 5]);
    let saved = serde_json::to_string(&config).expect("a config is numbers and names");
    let read: TransformerConfig = serde_json::from_str(&saved).expect("it was just written");
    assert_eq!(read, config);
}
