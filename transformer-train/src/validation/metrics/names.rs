//! Names of the metrics in the dashboard, `metrics.csv` and the log.

pub(crate) const LOSS: &str = "Loss";
pub(crate) const PERPLEXITY: &str = "Perplexity";
pub(crate) const SPEED: &str = "Target tokens/s";
pub(crate) const PADDING: &str = "Padding";
pub(crate) const WAITING: &str = "Waiting for data";
pub(crate) const GRADIENT_NORM: &str = "Gradient norm";
pub(crate) const EXACT_MATCH: &str = "Exact match";
pub(crate) const BLEU: &str = "BLEU";
pub(crate) const CHRF: &str = "chrF2";
pub(crate) const LEARNING_RATE: &str = "Learning Rate";
pub(crate) const COMMAND: &str = "Command score";

/// The text between the name of a metric and the number of a corpus.
const OF_CORPUS: &str = " corpus ";

/// Returns the name of a metric of one of several corpora, by its number from 1.
pub(crate) fn of_corpus(name: &str, number: usize) -> String {
    format!("{name}{OF_CORPUS}{number}")
}

/// Returns the number of the corpus in a name that [`of_corpus`] returned for this metric.
pub(crate) fn number_of_corpus(name: &str, of_corpus: &str) -> Option<usize> {
    let number = of_corpus.strip_prefix(name)?.strip_prefix(OF_CORPUS)?;
    number.parse().ok()
}
