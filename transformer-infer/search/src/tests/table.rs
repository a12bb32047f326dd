//! A model for tests: next-token probabilities from a table.

use transformer_search::NextToken;
use transformer_text::BOS;
use transformer_text::random::SplitMix64;

fn mix(bits: u64) -> u64 {
    SplitMix64::from_state(bits).nth(0)
}

/// Predicts from all preceding tokens, and checks how it is called.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    rows: Vec<Row>,
    vocab_size: usize,
    kind: Kind,
    /// Number of rows scored so far, which is the cost of a search.
    pub(crate) n_scored: usize,
}

#[derive(Clone, Debug)]
struct Row {
    sentence: u64,
    /// With BOS after the first step.
    tokens: Vec<u32>,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Pseudorandom probabilities, from the seed and all preceding tokens.
    Random {
        seed: u64,
    },
    /// The tokens of the chain in order, each with probability 0.9.
    Chain {
        tokens: Vec<u32>,
    },
    Nan,
}

impl Table {
    pub(crate) fn random(seed: u64, sentences: &[u64], vocab_size: usize) -> Self {
        Self::new(sentences, vocab_size, Kind::Random { seed })
    }

    pub(crate) fn chain(tokens: &[u32]) -> Self {
        Self::new(
            &[0],
            6,
            Kind::Chain {
                tokens: tokens.to_vec(),
            },
        )
    }

    /// Returns the log-probability of each token of a chain.
    pub(crate) fn chain_log_prob() -> f64 {
        0.9_f64.ln()
    }

    pub(crate) fn of_nan(n_rows: u64) -> Self {
        Self::new(&(0..n_rows).collect::<Vec<_>>(), 6, Kind::Nan)
    }

    fn new(sentences: &[u64], vocab_size: usize, kind: Kind) -> Self {
        let row = |sentence: &u64| Row {
            sentence: *sentence,
            tokens: Vec::new(),
        };
        Self {
            rows: sentences.iter().map(row).collect(),
            vocab_size,
            kind,
            n_scored: 0,
        }
    }

    /// Adds a row after the others.
    #[allow(dead_code, reason = "tests of the scheduler use it")]
    pub(crate) fn join(&mut self, sentence: u64) {
        self.rows.push(Row {
            sentence,
            tokens: Vec::new(),
        });
    }

    /// Returns the attention of a row after a token.
    pub(crate) fn attention(last: u32) -> Vec<f32> {
        match last % 3 {
            0 => vec![0.5, 0.25, 0.25],
            1 => vec![0.0, 0.75, 0.25],
            _ => vec![0.125, 0.125, 0.75],
        }
    }

    /// Returns the log-probabilities of the tokens after `tokens`, which begin with BOS.
    pub(crate) fn row(&self, sentence: u64, tokens: &[u32]) -> Vec<f32> {
        match &self.kind {
            Kind::Nan => vec![f32::NAN; self.vocab_size],
            Kind::Chain { tokens: chain } => {
                let next = chain.get(tokens.len() - 1).copied();
                let other = (0.1 / (self.vocab_size - 1) as f64).ln() as f32;
                let mut row = vec![other; self.vocab_size];
                if let Some(next) = next {
                    row[next as usize] = Self::chain_log_prob() as f32;
                }
                row
            }
            Kind::Random { seed } => {
                let start = mix(mix(*seed) ^ sentence);
                let context = tokens
                    .iter()
                    .fold(start, |hash, id| mix(hash ^ u64::from(*id)));
                let logit = |id: usize| (mix(context ^ id as u64) >> 40) as f64 / (1 << 21) as f64;
                let logits: Vec<f64> = (0..self.vocab_size).map(logit).collect();
                let norm = logits.iter().map(|logit| logit.exp()).sum::<f64>().ln();
                logits
                    .into_iter()
                    .map(|logit| (logit - norm) as f32)
                    .collect()
            }
        }
    }
}

impl NextToken for Table {
    fn n_rows(&self) -> usize {
        self.rows.len()
    }

    fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    fn log_probs(&mut self, last_tokens: &[u32]) -> Vec<f32> {
        assert_eq!(
            last_tokens.len(),
            self.rows.len(),
            "each row grows by one token"
        );
        self.n_scored += self.rows.len();
        for (Row { tokens, .. }, last) in self.rows.iter_mut().zip(last_tokens) {
            assert_eq!(
                tokens.is_empty(),
                *last == BOS,
                "only the first token is BOS"
            );
            tokens.push(*last);
        }
        let score = |row: &Row| self.row(row.sentence, &row.tokens);
        self.rows.iter().flat_map(score).collect()
    }

    /// Attends to three source tokens, with weights that depend on the last token.
    fn log_probs_with_attention(&mut self, last_tokens: &[u32]) -> (Vec<f32>, Vec<Vec<f32>>) {
        let attention = last_tokens.iter().map(|last| Self::attention(*last));
        (self.log_probs(last_tokens), attention.collect())
    }

    fn select(&mut self, rows: &[usize]) {
        self.rows = rows.iter().map(|row| self.rows[*row].clone()).collect();
    }
}
