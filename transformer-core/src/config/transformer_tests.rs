//! The checks of [`TransformerConfig::validate`].

use super::{ConfigError, TransformerConfig};
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
