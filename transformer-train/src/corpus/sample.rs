//! Random samples of a corpus: for tokenizers, and for validation.

use transformer_core::random::{SplitMix64, hash};

use crate::corpus::ParallelText;
use crate::error::TrainError;

const MAX_SAMPLE_BYTES: usize = 1 << 30;

struct Sample {
    /// Pairs with their index in the files, in the order of the corpus.
    pairs: Vec<(u64, (String, String))>,
    n_seen: u64,
}

impl ParallelText {
    /// Reads the whole corpus and returns a uniform random sample of `n_pairs` pairs, in the order of the corpus, or
    /// all pairs if there are fewer. A sample of more than 1 GiB is reduced.
    pub(crate) fn sample(
        &self,
        n_pairs: usize,
        seed: u64,
    ) -> Result<Vec<(String, String)>, TrainError> {
        let Sample { pairs, .. } = self.indexed_sample(n_pairs, MAX_SAMPLE_BYTES, seed)?;
        Ok(pairs.into_iter().map(|(_, pair)| pair).collect())
    }

    /// Holds out pairs for validation. Returns the training data and the validation data.
    ///
    /// Validation gets `n_pairs` pairs, but at most a tenth of the corpus and at least one pair. A
    /// sentence that occurs twice can be in both parts, so separate validation files are better.
    pub(crate) fn hold_out(self, n_pairs: usize, seed: u64) -> Result<(Self, Self), TrainError> {
        let sample = self.indexed_sample(n_pairs, MAX_SAMPLE_BYTES, seed)?;
        let Sample {
            pairs: mut sample,
            n_seen,
        } = sample;
        if n_seen < 2 {
            return Err(TrainError::TooFewToHoldOut {
                file: self.name().to_owned(),
            });
        }
        // The sample is in the order of the corpus; shuffling before truncation keeps all pairs equally likely.
        SplitMix64::new(hash(seed, u64::MAX)).shuffle(&mut sample);
        sample.truncate((n_seen / 10).max(1) as usize);
        sample.sort_unstable_by_key(|(index, _)| *index);
        let (indices, pairs): (Vec<u64>, Vec<_>) = sample.into_iter().unzip();
        let name = format!("held-out pairs of {}", self.name());
        Ok((self.without(&indices), Self::from_pairs(pairs).named(name)))
    }

    /// Returns a sample of at most `max_bytes` of text, but at least one pair (reservoir sampling). Logs if it has
    /// fewer than `n_pairs` because of that.
    fn indexed_sample(
        &self,
        n_pairs: usize,
        max_bytes: usize,
        seed: u64,
    ) -> Result<Sample, TrainError> {
        let n_requested = n_pairs;
        let mut n_pairs = n_pairs;
        let mut sample = Vec::new();
        let mut random = SplitMix64::new(seed);
        let (mut n_seen, mut n_bytes) = (0, 0);
        let mut pairs = self.pairs()?;
        while let Some(pair) = pairs.next() {
            let pair = pair?;
            let indexed = (pairs.n_read() - 1, pair);
            n_seen += 1;
            if sample.len() < n_pairs {
                n_bytes += n_bytes_of(&indexed);
                sample.push(indexed);
            } else {
                let slot = random.below(n_seen) as usize;
                if let Some(replaced) = sample.get_mut(slot) {
                    n_bytes = n_bytes + n_bytes_of(&indexed) - n_bytes_of(replaced);
                    *replaced = indexed;
                }
            }
            // A uniform sample of the sample is one of the corpus.
            while n_bytes > max_bytes && sample.len() > 1 {
                let slot = random.below(sample.len() as u64) as usize;
                n_bytes -= n_bytes_of(&sample.swap_remove(slot));
                n_pairs = sample.len();
            }
        }
        drop(pairs);
        if n_pairs < n_requested
            && let Some(progress) = self.progress()
        {
            let n_expected = n_seen.min(n_requested as u64);
            progress.log()(&format!(
                "sample      {} pairs instead of {n_expected}, of {n_seen} in all: a sample has at most {max_bytes} \
                 bytes of text",
                sample.len(),
            ));
        }
        sample.sort_unstable_by_key(|(index, _)| *index);
        Ok(Sample {
            pairs: sample,
            n_seen,
        })
    }
}

fn n_bytes_of((_, (src, tgt)): &(u64, (String, String))) -> usize {
    src.len() + tgt.len()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::progress::{Interrupt, LogFn, Progress};

    fn pair(src: &str, tgt: &str) -> (String, String) {
        (src.to_owned(), tgt.to_owned())
    }

    fn numbers(n: usize) -> ParallelText {
        ParallelText::from_pairs((0..n).map(|i| pair(&i.to_string(), "x")).collect())
    }

    #[test]
    fn a_sample_larger_than_the_corpus_is_the_corpus() {
        let sample = numbers(5).sample(10, 1).expect("it is in memory");
        assert_eq!(
            sample,
            (0..5)
                .map(|i| pair(&i.to_string(), "x"))
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn all_pairs_are_sampled_equally_often() {
        let text = numbers(20);
        let mut counts = [0; 20];
        for seed in 0..2000 {
            for (src, _) in text.sample(5, seed).expect("it is in memory") {
                counts[src.parse::<usize>().expect("sources are numbers")] += 1;
            }
        }
        // Each count is binomial with mean 500 and standard deviation 19; 100 is five of these.
        assert!(
            counts.iter().all(|count| (400..600).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn at_most_a_tenth_is_held_out_and_nothing_is_lost() {
        let (train, valid) = numbers(50).hold_out(1000, 1).expect("it is in memory");
        let train: Vec<_> = train
            .pairs()
            .expect("memory")
            .map(|p| p.expect("memory"))
            .collect();
        let valid: Vec<_> = valid
            .pairs()
            .expect("memory")
            .map(|p| p.expect("memory"))
            .collect();
        assert_eq!((train.len(), valid.len()), (45, 5));
        let mut all = [train, valid].concat();
        all.sort_by_key(|(src, _)| src.parse::<usize>().expect("sources are numbers"));
        assert_eq!(all, numbers(50).sample(50, 0).expect("memory"));
    }

    #[test]
    fn holding_out_twice_takes_other_pairs() {
        let (rest, first) = numbers(40).hold_out(4, 1).expect("it is in memory");
        let (rest, second) = rest.hold_out(3, 2).expect("it is in memory");
        let all: Vec<_> = [rest, first, second]
            .iter()
            .flat_map(|text| text.sample(40, 0).expect("it is in memory"))
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        assert_eq!(all.len(), 40);
    }

    #[test]
    fn a_single_pair_cannot_be_held_out() {
        let split = numbers(1).hold_out(1, 1);
        assert!(matches!(split, Err(TrainError::TooFewToHoldOut { .. })));
    }

    /// Samples 40 pairs of 6 or 7 bytes with a limit, and returns their number and what is logged.
    fn sample_within(max_bytes: usize, n_pairs: usize) -> (usize, Vec<String>) {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let log: LogFn = {
            let lines = Arc::clone(&lines);
            Arc::new(move |line: &str| {
                let mut lines = lines.lock().expect("no thread panics");
                lines.push(line.to_owned());
            })
        };
        let text = |i: usize| pair(&format!("line {i}"), "");
        let text = ParallelText::from_pairs((0..40).map(text).collect());
        let progress = Progress::new(&log, None, &Interrupt::default());
        let text = text.with_progress(&progress, "reading");
        let sample = text.indexed_sample(n_pairs, max_bytes, 1);
        let n_sampled = sample.expect("it is in memory").pairs.len();
        let lines = lines.lock().expect("no thread panics").clone();
        (n_sampled, lines)
    }

    #[test]
    fn a_sample_that_its_size_limits_is_logged_with_both_numbers() {
        let (n_sampled, lines) = sample_within(100, 30);
        assert!((14..=16).contains(&n_sampled), "{n_sampled}");
        let expected = format!(
            "sample      {n_sampled} pairs instead of 30, of 40 in all: a sample has at most 100 bytes of \
             text"
        );
        assert_eq!(lines, [expected]);
        // All were requested, and more than there are.
        let (n_sampled, lines) = sample_within(100, 1000);
        assert!(lines[0].contains(&format!(" {n_sampled} pairs instead of 40, of 40")));
    }

    #[test]
    fn a_sample_within_its_size_is_not_logged() {
        assert_eq!(sample_within(1000, 30), (30, vec![]));
        assert_eq!(sample_within(1000, 1000), (40, vec![]));
    }
}
