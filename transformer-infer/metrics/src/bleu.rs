//! BLEU (Papineni et al. 2002, <https://aclanthology.org/P02-1040/>).

use std::fmt;

use super::metric::{Metric, NgramCounts, corpus_sums, count_ngrams, n_matches};
use super::{Case, SACREBLEU_VERSION, Tokenization};

const MAX_ORDER: usize = 4;

/// The metric BLEU with its settings. The default is sacreBLEU's: tokenization 13a, cased, smoothing `exp`.
///
/// # Example
///
/// ```
/// use transformer_metrics::{Bleu, Metric};
///
/// let bleu = Bleu::default();
/// let score = bleu.corpus_score([("The cat sat.", ["The cat sat."]), ("A dog!", ["The dog!"])]);
/// assert_eq!(format!("{:.2}", score.score), "82.23");
/// assert!(bleu.signature(1).starts_with("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bleu {
    /// Splitting of lines into words. Default: 13a.
    pub tokenization: Tokenization,
    /// Smoothing of orders without a match. Default: `exp`.
    pub smoothing: Smoothing,
    /// Treatment of upper and lower case. Default: they differ.
    pub case: Case,
    /// The orders of n-grams that are used. Default: all four.
    pub orders: Orders,
}

/// The orders of n-grams that are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Orders {
    /// All four.
    #[default]
    All,
    /// The orders that the text is long enough for, as is usual for single sentences.
    Effective,
}

/// The treatment of an order of n-grams without a match; its precision of 0 would make the score 0 (Chen and Cherry
/// 2014, <https://aclanthology.org/W14-3346/>).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Smoothing {
    /// The first such order counts as half a match, the next as a quarter, and so on.
    #[default]
    Exp,
    /// It counts as this many matches; sacreBLEU's default is 0.1.
    Floor(f64),
    /// This is added to matches and totals of all orders above the first; sacreBLEU's default is 1.
    AddK(f64),
    /// No smoothing: the score is 0.
    None,
}

/// A BLEU score and its parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BleuScore {
    /// BLEU, from 0 to 100.
    pub score: f64,
    /// Smoothed precisions by order, in percent.
    pub precisions: [f64; MAX_ORDER],
    /// The factor that is below 1 for hypotheses shorter than the references.
    pub brevity_penalty: f64,
    /// Length of the hypotheses, in words.
    pub hyp_len: usize,
    /// Length of the references, in words.
    pub ref_len: usize,
}

impl Bleu {
    /// Returns the score of a text, given as pairs of a hypothesis and its references.
    pub fn corpus_score<H, R>(&self, pairs: impl IntoIterator<Item = (H, R)>) -> BleuScore
    where
        H: AsRef<str>,
        R: IntoIterator<Item: AsRef<str>>,
    {
        self.score(&corpus_sums(self, pairs))
    }

    /// Computes the score from the sums of [`Metric::counts`].
    fn score(&self, sums: &[f64]) -> BleuScore {
        let sum = |column: usize| sums.get(column).copied().unwrap_or(0.0);
        let (hyp_len, ref_len) = (sum(0) as usize, sum(1) as usize);
        let correct: [f64; MAX_ORDER] = std::array::from_fn(|order| sum(2 + order));
        let total: [f64; MAX_ORDER] = std::array::from_fn(|order| sum(2 + MAX_ORDER + order));
        let brevity_penalty = match hyp_len {
            0 if ref_len > 0 => 0.0,
            _ if hyp_len < ref_len => (1.0 - ref_len as f64 / hyp_len as f64).exp(),
            _ => 1.0,
        };
        let mut score = BleuScore {
            score: 0.0,
            precisions: [0.0; MAX_ORDER],
            brevity_penalty,
            hyp_len,
            ref_len,
        };
        if correct == [0.0; MAX_ORDER] {
            return score;
        }
        let mut n_orders = MAX_ORDER;
        let mut halvings = 1.0;
        for order in 0..MAX_ORDER {
            let (mut correct, mut total) = (correct[order], total[order]);
            if let Smoothing::AddK(k) = self.smoothing
                && order > 0
            {
                correct += k;
                total += k;
            }
            if total == 0.0 {
                break;
            }
            if self.orders == Orders::Effective {
                n_orders = order + 1;
            }
            score.precisions[order] = match self.smoothing {
                _ if correct != 0.0 => 100.0 * correct / total,
                Smoothing::Exp => {
                    halvings *= 2.0;
                    100.0 / (halvings * total)
                }
                Smoothing::Floor(matches) => 100.0 * matches / total,
                Smoothing::AddK(_) | Smoothing::None => 0.0,
            };
        }
        let precisions = score.precisions[..n_orders].iter();
        let logs = precisions.map(|precision| precision.ln());
        score.score = brevity_penalty * (logs.sum::<f64>() / n_orders as f64).exp();
        score
    }

    fn words(&self, line: &str) -> Vec<String> {
        self.tokenization.words(&self.case.apply(line))
    }
}

impl fmt::Display for BleuScore {
    /// Writes the score as sacreBLEU does: `28.9 68.1/40.8/27.4/18.5 (BP = 0.840 …)`. The format's precision applies
    /// to the score, with one decimal by default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            score,
            precisions: [one, two, three, four],
            brevity_penalty,
            hyp_len,
            ref_len,
        } = self;
        let digits = f.precision().unwrap_or(1);
        let ratio = match ref_len {
            0 => 0.0,
            _ => *hyp_len as f64 / *ref_len as f64,
        };
        write!(
            f,
            "{score:.digits$} {one:.1}/{two:.1}/{three:.1}/{four:.1} (BP = {brevity_penalty:.3} \
             ratio = {ratio:.3} hyp_len = {hyp_len} ref_len = {ref_len})"
        )
    }
}

impl Metric for Bleu {
    fn name(&self) -> String {
        "BLEU".to_owned()
    }

    fn signature(&self, n_references: usize) -> String {
        let case = self.case.name();
        let effective = match self.orders {
            Orders::All => "no",
            Orders::Effective => "yes",
        };
        let tokenization = self.tokenization.name();
        let smoothing = match self.smoothing {
            Smoothing::Exp => "exp".to_owned(),
            Smoothing::Floor(matches) => format!("floor[{matches:.2}]"),
            Smoothing::AddK(k) => format!("add-k[{k:.2}]"),
            Smoothing::None => "none".to_owned(),
        };
        format!(
            "nrefs:{n_references}|case:{case}|eff:{effective}|tok:{tokenization}|smooth:{smoothing}|\
             version:{SACREBLEU_VERSION}"
        )
    }

    /// Returns the lengths of the hypothesis and of the closest reference, in words; by order, the numbers of n-grams
    /// of the hypothesis that are in a reference; and by order, the numbers of all its n-grams.
    fn counts(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        let hypothesis = self.words(hypothesis);
        let references: Vec<Vec<String>> = references.iter().map(|it| self.words(it)).collect();
        let hyp_len = hypothesis.len();
        // The shorter one of two references at the same distance.
        let ref_lens = references.iter().map(Vec::len);
        let ref_len = ref_lens.min_by_key(|&ref_len| (ref_len.abs_diff(hyp_len), ref_len));
        let mut columns = [0; 2 + 2 * MAX_ORDER];
        (columns[0], columns[1]) = (hyp_len, ref_len.unwrap_or(0));
        for order in 1..=MAX_ORDER {
            // An n-gram matches at most as often as it occurs in one of the references.
            let mut allowed = NgramCounts::new();
            for reference in &references {
                for (ngram, n) in count_ngrams(reference, order) {
                    let most = allowed.entry(ngram).or_insert(0);
                    *most = n.max(*most);
                }
            }
            let counts = count_ngrams(&hypothesis, order);
            columns[1 + order] = n_matches(&counts, &allowed);
            columns[1 + MAX_ORDER + order] = counts.values().sum();
        }
        columns.map(|count| count as f64).to_vec()
    }

    fn score_of(&self, sums: &[f64]) -> f64 {
        self.score(sums).score
    }

    fn describe(&self, sums: &[f64], digits: usize) -> String {
        format!("{:.digits$}", self.score(sums))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLEU: Bleu = Bleu {
        tokenization: Tokenization::None,
        smoothing: Smoothing::None,
        case: Case::Mixed,
        orders: Orders::All,
    };

    #[test]
    fn an_ngram_matches_at_most_as_often_as_in_one_reference() {
        // The example of the paper: "the" occurs seven times in the hypothesis, and twice in a reference.
        let counts = BLEU.counts(
            "the the the the the the the",
            &["the cat is on the mat", "there is a cat on the mat"],
        );
        assert_eq!((counts[2], counts[6]), (2.0, 7.0));
    }

    #[test]
    fn the_reference_length_is_the_nearest_and_the_shorter_of_two() {
        assert_eq!(BLEU.counts("a b c", &["a b", "a b c d", "a"])[1], 2.0);
    }

    #[test]
    fn a_short_hypothesis_gets_the_brevity_penalty() {
        let score = BLEU.corpus_score([("a b c d", ["a b c d e"])]);
        assert!((score.score - 100.0 * (-0.25_f64).exp()).abs() < 1e-9);
    }

    #[test]
    fn an_empty_hypothesis_scores_zero() {
        assert_eq!(BLEU.corpus_score([("", ["a"])]).score, 0.0);
        assert_eq!(BLEU.corpus_score([("", [""])]).score, 0.0);
    }
}
