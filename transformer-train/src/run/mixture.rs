//! The mixture of several training corpora: by weights, and by temperature.

use crate::batching::CorpusWeight;
use crate::config::Experiment;
use crate::corpus::CorpusSummary;
use crate::progress::LogFn;

/// Returns the size and the sampling weight of each corpus: the mean number of times that its sentences occur in a
/// pass.
///
/// At temperature `T`, corpus `i` with `n_i` sentences and weight `w_i` makes up the share `p_i ∝ w_i·n_i^(1/T)` of a
/// pass, which has as many sentences as at `T = 1`: `Σ w_i·n_i` (Arivazhagan et al. 2019,
/// <https://arxiv.org/abs/1907.05019>; multilingual BERT has the exponent 0.7 for `1/T`).
pub(super) fn corpus_weights(
    summary: &CorpusSummary,
    weights: &[f64],
    temperature: f64,
) -> Vec<CorpusWeight> {
    // The last corpora are not counted if none of their pairs is kept.
    let kept = summary.kept_of.iter().copied().chain(std::iter::repeat(0));
    let weight = |(&weight, kept): (&f64, u64)| CorpusWeight {
        n_sentences: kept as usize,
        weight,
    };
    let corpora: Vec<CorpusWeight> = weights.iter().zip(kept).map(weight).collect();
    if temperature == 1.0 || corpora.len() < 2 {
        return corpora;
    }
    // The share per sentence; a corpus without sentences has none.
    let tempered = |it: &CorpusWeight| match it.n_sentences {
        0 => 0.0,
        n => it.weight * (n as f64).powf(1.0 / temperature - 1.0),
    };
    let n_drawn = |share: &dyn Fn(&CorpusWeight) -> f64| -> f64 {
        let of_corpora = corpora.iter().map(|it| share(it) * it.n_sentences as f64);
        of_corpora.sum()
    };
    let scale = n_drawn(&|it| it.weight) / n_drawn(&tempered);
    let scaled = corpora.iter().map(|it| CorpusWeight {
        weight: scale * tempered(it),
        ..*it
    });
    scaled.collect()
}

/// Logs the share of each of several corpora in the training sentences.
pub(super) fn log_corpus_shares(corpora: &[CorpusWeight], experiment: &Experiment, log: &LogFn) {
    let settings = &experiment.data.corpora;
    if corpora.len() < 2 {
        return;
    }
    let n_drawn = |corpus: &CorpusWeight| corpus.weight * corpus.n_sentences as f64;
    let n_all: f64 = corpora.iter().map(n_drawn).sum();
    for ((corpus, settings), number) in corpora.iter().zip(settings).zip(1..) {
        let weight = match experiment.data.sampling_temperature == 1.0 {
            true => corpus.weight.to_string(),
            false => format!("{:.3}", corpus.weight),
        };
        let tags = [("tag", &settings.tag), ("target tag", &settings.target_tag)];
        let tags = tags.into_iter().filter_map(|(name, tag)| {
            let tag = tag.as_ref()?;
            Some(format!("{name} {tag}, "))
        });
        log(&format!(
            "corpus {number:<4} {} pairs, {}weight {weight}: {:.1}% of the sentences of a pass",
            corpus.n_sentences,
            tags.collect::<String>(),
            100.0 * n_drawn(corpus) / n_all
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the weight of each corpus, and its share of a pass, at a temperature.
    fn mixed(kept_of: &[u64], weights: &[f64], temperature: f64) -> (Vec<f64>, Vec<f64>) {
        let summary = CorpusSummary {
            kept_of: kept_of.to_vec(),
            ..CorpusSummary::default()
        };
        let mixed = corpus_weights(&summary, weights, temperature);
        let n_drawn = |it: &CorpusWeight| it.weight * it.n_sentences as f64;
        let n_all: f64 = mixed.iter().map(n_drawn).sum();
        let shares = mixed.iter().map(|it| n_drawn(it) / n_all).collect();
        (mixed.iter().map(|it| it.weight).collect(), shares)
    }

    fn assert_near(found: &[f64], expected: &[f64]) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
        }
    }

    #[test]
    fn at_temperature_1_the_weights_are_those_of_the_settings_to_the_last_bit() {
        let (weights, _) = mixed(&[3, 1000], &[0.1, 0.7], 1.0);
        assert_eq!(weights, [0.1, 0.7]);
    }

    #[test]
    fn at_temperature_2_shares_follow_the_roots_of_the_sizes() {
        // Roots 30 and 10; the pass keeps its 1000 sentences.
        let (weights, shares) = mixed(&[900, 100], &[1.0, 1.0], 2.0);
        assert_near(&shares, &[0.75, 0.25]);
        assert_near(&weights, &[750.0 / 900.0, 2.5]);
    }

    #[test]
    fn at_a_high_temperature_all_corpora_have_equal_shares() {
        let (_, shares) = mixed(&[900, 100, 1], &[1.0; 3], 1e6);
        assert!(shares.iter().all(|share| (share - 1.0 / 3.0).abs() < 1e-5));
    }

    #[test]
    fn weights_multiply_the_shares_of_a_temperature() {
        let (_, shares) = mixed(&[900, 100], &[1.0, 3.0], 2.0);
        assert_near(&shares, &[0.5, 0.5]);
    }

    #[test]
    fn a_corpus_without_pairs_has_no_share() {
        let (weights, shares) = mixed(&[4], &[1.0, 1.0], 5.0);
        assert_near(&shares, &[1.0, 0.0]);
        assert_near(&weights, &[1.0, 0.0]);
    }
}
