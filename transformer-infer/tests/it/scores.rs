//! Scores are those of sacreBLEU, from `tests/fixtures/generate_scores.py`.

use std::sync::LazyLock;

use serde::Deserialize;
use transformer_infer::metrics::{
    Bleu, Case, Chrf, Metric, Normalization, Orders, Punctuation, Scripts, Smoothing, Ter,
    Tokenization,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Set {
    hypotheses: Vec<String>,
    /// `[n_references][n_lines]`.
    references: Vec<Vec<String>>,
    bleu: Vec<GoldenBleu>,
    chrf: Vec<GoldenChrf>,
    ter: Vec<GoldenTer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GoldenBleu {
    tokenize: String,
    smooth_method: Option<String>,
    smooth_value: Option<f64>,
    #[serde(default)]
    lowercase: bool,
    #[serde(default)]
    effective_order: bool,
    printed: String,
    signature: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GoldenChrf {
    char_order: Option<usize>,
    word_order: usize,
    beta: Option<usize>,
    #[serde(default)]
    lowercase: bool,
    printed: String,
    signature: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are the options of sacreBLEU, as the generator writes them"
)]
struct GoldenTer {
    normalized: bool,
    no_punct: bool,
    asian_support: bool,
    case_sensitive: bool,
    printed: String,
    signature: String,
}

static SETS: LazyLock<Vec<Set>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../fixtures/scores.json"))
        .expect("the generator writes the fields above")
});

impl Set {
    /// Returns each hypothesis with its references.
    fn pairs(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &str>)> {
        self.hypotheses
            .iter()
            .enumerate()
            .map(|(line, hypothesis)| {
                let references = self.references.iter().map(move |it| it[line].as_str());
                (hypothesis.as_str(), references)
            })
    }
}

fn case(lowercase: bool) -> Case {
    if lowercase { Case::Lower } else { Case::Mixed }
}

impl GoldenBleu {
    fn metric(&self) -> Bleu {
        let named = |tokenization: &Tokenization| tokenization.name() == self.tokenize;
        Bleu {
            tokenization: Tokenization::ALL
                .into_iter()
                .find(named)
                .expect("the name is sacreBLEU's"),
            smoothing: match self.smooth_method.as_deref() {
                None | Some("exp") => Smoothing::Exp,
                Some("floor") => Smoothing::Floor(self.smooth_value.unwrap_or(0.1)),
                Some("add-k") => Smoothing::AddK(self.smooth_value.unwrap_or(1.0)),
                Some(_) => Smoothing::None,
            },
            case: case(self.lowercase),
            orders: if self.effective_order {
                Orders::Effective
            } else {
                Orders::All
            },
        }
    }
}

impl GoldenTer {
    fn metric(&self) -> Ter {
        Ter {
            normalization: if self.normalized {
                Normalization::Tercom
            } else {
                Normalization::None
            },
            punctuation: if self.no_punct {
                Punctuation::Drop
            } else {
                Punctuation::Keep
            },
            scripts: if self.asian_support {
                Scripts::Asian
            } else {
                Scripts::Western
            },
            case: case(!self.case_sensitive),
        }
    }
}

#[test]
fn bleu_is_printed_as_by_sacrebleu() {
    assert!(SETS.len() >= 60);
    for (number, set) in SETS.iter().enumerate() {
        for golden in &set.bleu {
            let bleu = golden.metric();
            let printed = format!("{:.2}", bleu.corpus_score(set.pairs()));
            assert_eq!(printed, golden.printed, "set {number}, {bleu:?}");
            assert_eq!(bleu.signature(set.references.len()), golden.signature);
        }
    }
}

#[test]
fn chrf_is_printed_as_by_sacrebleu() {
    for (number, set) in SETS.iter().enumerate() {
        for golden in &set.chrf {
            let chrf = Chrf {
                char_order: golden.char_order.unwrap_or(6),
                word_order: golden.word_order,
                beta: golden.beta.unwrap_or(2),
                case: case(golden.lowercase),
            };
            let printed = format!("{:.2}", chrf.corpus_score(set.pairs()));
            assert_eq!(printed, golden.printed, "set {number}, {chrf:?}");
            assert_eq!(chrf.signature(set.references.len()), golden.signature);
        }
    }
}

#[test]
fn ter_is_printed_as_by_sacrebleu() {
    for (number, set) in SETS.iter().enumerate() {
        assert_eq!(set.ter.len(), 7);
        for golden in &set.ter {
            let ter = golden.metric();
            let printed = format!("{:.2}", ter.corpus_score(set.pairs()));
            assert_eq!(printed, golden.printed, "set {number}, {ter:?}");
            assert_eq!(ter.signature(set.references.len()), golden.signature);
        }
    }
}
