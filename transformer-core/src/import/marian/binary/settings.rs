//! [`Settings`]: the settings in `special:model.yml`, as our config, and the part of YAML in which they are.

use std::collections::BTreeMap;

use super::BinaryError;
use crate::config::{Activation, Mixing, Positions, TransformerConfig, Tying};

/// Keys with the only values that can be imported. The first is Marian's default.
const ALLOWED: &[(&str, &[&str])] = &[
    ("transformer-preprocess", &[""]),
    ("transformer-postprocess", &["dan"]),
    ("transformer-postprocess-top", &[""]),
    ("transformer-postprocess-emb", &["d", ""]),
    ("transformer-ffn-depth", &["2"]),
    ("transformer-decoder-ffn-depth", &["0", "2"]),
    ("transformer-decoder-dim-ffn", &["0"]),
    ("transformer-no-projection", &["false"]),
    ("transformer-no-bias", &["false"]),
    ("transformer-no-affine", &["false"]),
    ("transformer-pool", &["false"]),
    ("transformer-rnn-projection", &["false"]),
    ("transformer-tied-layers", &["[]"]),
    ("transformer-train-position-embeddings", &["false"]),
    ("transformer-train-positions", &["false"]),
    ("input-types", &["[]", "[sequence]"]),
    ("layer-normalization", &["false"]),
    ("lemma-dim-emb", &["0"]),
    ("output-omit-bias", &["false"]),
    ("right-left", &["false"]),
    ("ulr", &["false"]),
];

const NORM_EPSILON: f64 = 1e-6;

pub(crate) struct Settings(Yaml);

impl Settings {
    pub(crate) fn parse(text: &str) -> Result<Self, BinaryError> {
        let settings = Self(Yaml::parse(text)?);
        settings.choose("type", None, &["transformer"])?;
        for (key, allowed) in ALLOWED {
            settings.choose(key, allowed.first().copied(), allowed)?;
        }
        Ok(settings)
    }

    pub(crate) fn config(
        &self,
        n_src: usize,
        n_tgt: usize,
    ) -> Result<TransformerConfig, BinaryError> {
        let activation = "transformer-ffn-activation";
        let activation = match self.choose(activation, None, &["relu", "swish"])? {
            "relu" => Activation::Relu,
            _ => Activation::Silu,
        };
        let config = TransformerConfig {
            d_model: self.number("dim-emb")?,
            d_ff: self.number("transformer-dim-ffn")?,
            n_heads: self.number("transformer-heads")?,
            n_encoder_layers: self.number("enc-depth")?,
            n_decoder_layers: self.number("dec-depth")?,
            norm_epsilon: NORM_EPSILON,
            positions: Positions::SinusoidalHalvesInclusive,
            decoder_mixing: self.decoder_mixing()?,
            activation,
            tying: self.tying()?,
            output_bias: true,
            start_from_zeros: true,
            scale_embeddings: true,
            ..TransformerConfig::base(n_src, n_tgt)
        };
        config.validate()?;
        Ok(config)
    }

    /// Returns the text of the settings with which this program reads `config`, for vocabularies of these sizes in the
    /// file.
    pub(crate) fn text_of(config: &TransformerConfig, n_src: usize, n_tgt: usize) -> String {
        let activation = match config.activation {
            Activation::Silu => "swish",
            Activation::Relu | Activation::Gelu => "relu",
        };
        let (autoreg, cell) = match config.decoder_mixing {
            Mixing::Ssru => ("rnn", "ssru"),
            Mixing::SelfAttention => ("self-attention", "gru"),
        };
        let is_joint = config.tying == Tying::All;
        let mut settings = BTreeMap::from([
            ("dec-cell", cell.to_owned()),
            ("dec-depth", config.n_decoder_layers.to_string()),
            ("dim-emb", config.d_model.to_string()),
            ("dim-vocabs", format!("\n  - {n_src}\n  - {n_tgt}")),
            ("enc-depth", config.n_encoder_layers.to_string()),
            ("tied-embeddings", (!is_joint).to_string()),
            ("tied-embeddings-all", is_joint.to_string()),
            ("transformer-decoder-autoreg", autoreg.to_owned()),
            ("transformer-dim-ffn", config.d_ff.to_string()),
            ("transformer-ffn-activation", activation.to_owned()),
            ("transformer-guided-alignment-layer", "last".to_owned()),
            ("transformer-heads", config.n_heads.to_string()),
            ("type", "transformer".to_owned()),
            ("version", "v1.9.56".to_owned()),
        ]);
        for (key, allowed) in ALLOWED {
            let value = match allowed[0] {
                "" => "\"\"",
                value => value,
            };
            settings.insert(key, value.to_owned());
        }
        let lines = settings
            .iter()
            .map(|(key, value)| match value.starts_with('\n') {
                true => format!("{key}:{value}\n"),
                false => format!("{key}: {value}\n"),
            });
        lines.collect()
    }

    fn tying(&self) -> Result<Tying, BinaryError> {
        match self.0.get("tied-embeddings-all") {
            Some("true") => Ok(Tying::All),
            _ => {
                self.choose("tied-embeddings-src", Some("false"), &["false"])?;
                self.choose("tied-embeddings", None, &["true"])?;
                Ok(Tying::Decoder)
            }
        }
    }

    fn decoder_mixing(&self) -> Result<Mixing, BinaryError> {
        let key = "transformer-decoder-autoreg";
        let allowed = ["self-attention", "rnn"];
        match self.choose(key, Some(allowed[0]), &allowed)? {
            "rnn" => self
                .choose("dec-cell", None, &["ssru"])
                .map(|_| Mixing::Ssru),
            _ => Ok(Mixing::SelfAttention),
        }
    }

    /// Checks the size of a vocabulary: 0 is the source's, 1 the target's.
    pub(super) fn check_vocabulary(&self, side: usize, found: usize) -> Result<(), BinaryError> {
        let sizes = self.0.get("dim-vocabs").unwrap_or("missing");
        let mut sides = sizes.trim_matches(['[', ']']).split(", ");
        match sides.nth(side).and_then(|size| size.parse().ok()) == Some(found) {
            true => Ok(()),
            false => Err(BinaryError::VocabSize {
                found,
                expected: sizes.to_owned(),
            }),
        }
    }

    /// Returns the value of a key, which must be one of the allowed.
    fn choose(
        &self,
        key: &'static str,
        default: Option<&'static str>,
        allowed: &[&'static str],
    ) -> Result<&str, BinaryError> {
        let value = self.0.get(key).or(default);
        let found = value.filter(|value| allowed.contains(value));
        found.ok_or_else(|| {
            let allowed: Vec<String> = allowed.iter().map(|it| format!("`{it}`")).collect();
            refusal(key, value, allowed.join(" or "))
        })
    }

    fn number(&self, key: &'static str) -> Result<usize, BinaryError> {
        let value = self.0.get(key);
        let number = value.and_then(|value| value.parse().ok());
        number.ok_or_else(|| refusal(key, value, "a positive number".to_owned()))
    }
}

/// The settings of search that a model is published with.
#[derive(Debug, PartialEq)]
pub(super) struct SearchSettings {
    pub(super) beam_size: usize,
    /// Exponent of the length by which scores are divided.
    pub(super) normalize: f64,
    /// Largest number of target tokens for each source token.
    pub(super) max_length_factor: f64,
}

impl SearchSettings {
    /// The values of Bergamot's models.
    pub(super) const BERGAMOT: Self = Self {
        beam_size: 1,
        normalize: 1.0,
        max_length_factor: 2.5,
    };

    /// The defaults of Marian's decoder.
    pub(super) const MARIAN: Self = Self {
        beam_size: 12,
        normalize: 0.0,
        max_length_factor: 3.0,
    };

    /// Parses `config.yml` or `decoder.yml`; what it lacks has the values of `default`.
    pub(super) fn parse(text: &str, default: &Self) -> Result<Self, BinaryError> {
        let yaml = Yaml::parse(text)?;
        let number = |key, default: f64| match yaml.get(key) {
            None => Ok(default),
            value => {
                let number = value.and_then(|value| value.parse::<f64>().ok());
                let number = number.filter(|it| it.is_finite() && *it >= 0.0);
                number.ok_or_else(|| refusal(key, value, "a number of at least 0".to_owned()))
            }
        };
        if number("word-penalty", 0.0)? > 0.0 {
            return Err(refusal(
                "word-penalty",
                yaml.get("word-penalty"),
                "`0`".to_owned(),
            ));
        }
        Ok(Self {
            beam_size: number("beam-size", default.beam_size as f64)? as usize,
            normalize: number("normalize", default.normalize)?,
            max_length_factor: number("max-length-factor", default.max_length_factor)?,
        })
    }
}

fn refusal(key: &'static str, value: Option<&str>, expected: String) -> BinaryError {
    BinaryError::Setting {
        key,
        found: value.map_or("missing".to_owned(), |value| format!("`{value}`")),
        expected,
    }
}

/// The values by key; a list is written `[a, b]`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Yaml(BTreeMap<String, String>);

impl Yaml {
    /// Parses text. Indented lines belong to the key before them; those that are not items of a list are ignored.
    pub(super) fn parse(text: &str) -> Result<Self, BinaryError> {
        let mut values = BTreeMap::new();
        let mut key_of_list = "";
        for (line, text) in (1..).zip(text.lines()) {
            let content = text.trim();
            if content.is_empty() || content.starts_with('#') || content == "---" {
                continue;
            }
            if text.starts_with([' ', '-']) {
                let list: Option<&mut String> = values.get_mut(key_of_list);
                if let (Some(list), Some(item)) = (list, content.strip_prefix("- ")) {
                    list.truncate(list.len() - 1);
                    let comma = if list.len() > 1 { ", " } else { "" };
                    list.push_str(&format!("{comma}{}]", unquoted(item)));
                }
                continue;
            }
            let pair = content.split_once(':');
            let pair = pair.filter(|(key, value)| {
                !key.is_empty() && (value.is_empty() || value.starts_with(' '))
            });
            let (key, value) = pair.ok_or(BinaryError::Line { line })?;
            let (list, value) = match value.trim() {
                "" => (key, "[]"),
                value => ("", unquoted(value)),
            };
            key_of_list = list;
            if values.insert(key.to_owned(), value.to_owned()).is_some() {
                return Err(BinaryError::Line { line });
            }
        }
        Ok(Self(values))
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
}

fn unquoted(value: &str) -> &str {
    let quoted = ['"', '\''].map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    quoted.into_iter().flatten().next().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_plain_values_and_lists() {
        let text = "# from Marian\n---\ntype: transformer\npost: \"\"\nsizes:\n  - 7\n  - '8'\nnone:\n  []\n\
                    flow: [1, 2]\n\
                    nested:\n  a: b\nversion: v1.9 2021-04-28 00:28:35 +0100\n";
        let yaml = Yaml::parse(text).expect("it is YAML");
        let found =
            ["type", "post", "sizes", "none", "flow", "version", "a"].map(|it| yaml.get(it));
        let expected = ["transformer", "", "[7, 8]", "[]", "[1, 2]"].map(Some);
        assert_eq!(found[..5], expected);
        assert_eq!(found[5..], [Some("v1.9 2021-04-28 00:28:35 +0100"), None]);
    }

    #[test]
    fn a_line_without_key_and_a_repeated_key_are_refused() {
        for text in [
            "a: 1\nb\n",
            "a: 1\na: 2\n",
            "a: 1\nhttp://b\n",
            "a:\na: 1\n",
            "a: 1\n: é\n- b\n",
        ] {
            let error = Yaml::parse(text).expect_err("the text is not YAML");
            assert!(error.to_string().starts_with("line 2 "), "{text}");
        }
    }
}
