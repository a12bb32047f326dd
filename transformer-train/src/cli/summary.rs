//! Standard output of a run: at its end samples, scores, and the next commands.

use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use transformer_core::device::Backend;
use transformer_program::{OutputError, check_output};
use transformer_train::Outcome;
use transformer_train::config::Experiment;

/// Standard output. A line that cannot be written does not end a training, but its program fails at the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Output {
    failure: Arc<Mutex<Option<io::Error>>>,
}

impl Output {
    pub(crate) fn print(&self, text: &str) {
        if let Err(error) = io::stdout().write_all(text.as_bytes()) {
            self.failure.lock().get_or_insert(error);
        }
    }

    pub(crate) fn print_line(&self, line: &str) {
        self.print(&format!("{line}\n"));
    }

    /// Checks that everything printed has arrived. A closed pipe, such as `head`, is not a failure.
    pub(crate) fn finish(&self) -> Result<(), OutputError> {
        let outcome = match self.failure.lock().take() {
            Some(error) => Err(error.into()),
            None => check_output(),
        };
        match outcome {
            Err(error) if error.is_closed_pipe() => Ok(()),
            outcome => outcome,
        }
    }
}

pub(crate) fn print_summary(
    outcome: &Outcome,
    experiment: &Experiment,
    directory: &Path,
    backend: Backend,
    output: &Output,
) {
    // As at every validation, so that a text cannot control the terminal.
    let one_line = |text: &str| text.replace(char::is_control, " ");
    for sample in &outcome.samples {
        output.print_line(&format!("\nsource       {}", one_line(&sample.src)));
        output.print_line(&format!("reference    {}", one_line(&sample.reference)));
        output.print_line(&format!("translation  {}", one_line(&sample.translation)));
    }
    output.print_line("");
    for (name, value) in scores(outcome, experiment) {
        output.print_line(&format!("{name:<12}{value}"));
    }
    let text = outcome
        .samples
        .first()
        .map_or_else(|| "some text".to_owned(), |sample| one_line(&sample.src));
    output.print_line(&format!(
        "\nThe model is in {}. To translate with it:\n",
        outcome.model.display()
    ));
    let directory = quoted(&directory.display().to_string());
    output.print_line(&format!(
        "    {} translate --model {directory} {}",
        command_for("transformer-infer", "-q ", backend),
        as_argument(&text)
    ));
    if was_stopped(outcome, experiment) {
        output.print_line(&format!(
            "\nStopped after {} of {} updates. To resume:\n\n    {} --resume {directory}",
            outcome.n_updates,
            experiment.training.updates,
            command_for("transformer-train", "", backend)
        ));
    }
}

pub(crate) fn was_stopped(outcome: &Outcome, experiment: &Experiment) -> bool {
    outcome.n_updates < experiment.training.updates && !outcome.is_out_of_patience
}

fn scores(outcome: &Outcome, experiment: &Experiment) -> Vec<(&'static str, String)> {
    let text = &outcome.text_scores;
    let mut rows = vec![
        (
            "updates",
            format!(
                "{} of {}, in {:.0} seconds",
                outcome.n_updates,
                experiment.training.updates,
                outcome.elapsed.as_secs_f64()
            ),
        ),
        (
            "perplexity",
            format!("{:<7.3} of the validation pairs", outcome.valid_perplexity),
        ),
        (
            "BLEU",
            format!("{:<7.1} {}", text.bleu, text.bleu_signature),
        ),
        (
            "chrF2",
            format!("{:<7.1} {}", text.chrf, text.chrf_signature),
        ),
        (
            "",
            format!("        of {} of them, translated", text.n_pairs),
        ),
    ];
    for (number, corpus) in &text.corpora {
        let (bleu, chrf) = (corpus.bleu, corpus.chrf);
        let n_pairs = corpus.n_pairs;
        rows.push((
            "",
            format!("{bleu:<7.1} BLEU and {chrf:.1} chrF2 of {n_pairs} pairs of corpus {number}"),
        ));
    }
    if let (Some(score), Some(command)) = (outcome.command_score, &experiment.validation.command) {
        rows.push(("command", format!("{score:<7.4} {command}")));
    }
    if let Some(test) = outcome.test {
        let percent = format!("{:.1}%", 100.0 * test.exact_match());
        let (n_exact, n_pairs) = (test.n_exact, test.n_pairs);
        let row = format!("{percent:<7} {n_exact} of {n_pairs} held-out pairs");
        rows.push(("exact match", row));
    }
    rows
}

/// Returns the command that runs a program: through cargo if cargo runs this one; otherwise its name, with its folder
/// if that is not in PATH.
fn command_for(name: &str, flags: &str, backend: Backend) -> String {
    if env::var_os("CARGO").is_none() {
        let this_program = env::current_exe().unwrap_or_default();
        let folder = this_program.parent().unwrap_or(Path::new(""));
        let path = env::var_os("PATH").unwrap_or_default();
        let is_in_path = env::split_paths(&path).any(|searched| searched == folder);
        return match is_in_path {
            true => name.to_owned(),
            false => quoted(&folder.join(name).display().to_string()),
        };
    }
    let features = match backend {
        Backend::Flex => String::new(),
        other => format!(" --features {other}"),
    };
    format!("cargo run {flags}-p {name}{features} --")
}

/// Returns a text as the last argument of a command; after `--`, a hyphen at its start begins no flag.
fn as_argument(text: &str) -> String {
    let end_of_flags = if text.starts_with('-') { "-- " } else { "" };
    format!("{end_of_flags}{}", quoted(text))
}

/// Quotes a word for the shell, if necessary.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_a_hyphen_at_its_start_is_no_flag() {
        assert_eq!(as_argument("- a dog"), "-- '- a dog'");
        assert_eq!(as_argument("a-b"), "a-b");
    }
}
