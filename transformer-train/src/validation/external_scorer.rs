//! Scores translations by a program of the user, `validation.command`.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use transformer_core::directory::replace_file;

use crate::config::{ScoreCommand, ValidationSettings};
use crate::error::TrainError;
use crate::progress::Interrupt;

/// The files of the command, in the folder `validation` of a run: sources, translations, references, the standard
/// output of the command, and its standard error.
pub(crate) const SCORED_FILES: [&str; 5] = [
    "sources.txt",
    "translations.txt",
    "references.txt",
    "output.txt",
    "errors.txt",
];

/// Size of the end of the command's output that is read, in bytes.
const MAX_BYTES: u64 = 4096;

#[derive(Clone, Debug)]
pub(crate) struct ExternalScorer {
    command: ScoreCommand,
    time_limit: Duration,
    folder: PathBuf,
    pairs: Arc<[(String, String)]>,
    interrupt: Interrupt,
}

impl ExternalScorer {
    /// Returns the scorer of the settings, if they have a command. `pairs` are the source and the reference of each
    /// translated pair.
    pub(crate) fn new(
        settings: &ValidationSettings,
        run: &Path,
        pairs: &[(String, String)],
        interrupt: &Interrupt,
    ) -> Option<Self> {
        let command = settings.command.clone()?;
        Some(Self {
            command,
            time_limit: Duration::from_secs(settings.command_time_limit),
            folder: run.join("validation"),
            pairs: pairs.iter().take(settings.max_sentences).cloned().collect(),
            interrupt: interrupt.clone(),
        })
    }

    pub(crate) fn score<S: AsRef<str>>(&self, translations: &[S]) -> Result<f64, TrainError> {
        let [sources, hypotheses, references, output, errors] =
            SCORED_FILES.map(|name| self.folder.join(name));
        let file_error = |path: &Path| {
            let path = path.to_owned();
            |source| TrainError::CommandFile { path, source }
        };
        fs::create_dir_all(&self.folder).map_err(file_error(&self.folder))?;
        self.write(
            SCORED_FILES[0],
            self.pairs.iter().map(|(src, _)| src.as_str()),
        )?;
        self.write(
            SCORED_FILES[2],
            self.pairs.iter().map(|(_, tgt)| tgt.as_str()),
        )?;
        self.write(SCORED_FILES[1], translations.iter().map(AsRef::as_ref))?;

        let paths = [&sources, &hypotheses, &references].map(|path| path.display().to_string());
        let words = self.command.with_files([&paths[0], &paths[1], &paths[2]]);
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .stdin(Stdio::null())
            .stdout(File::create(&output).map_err(file_error(&output))?)
            .stderr(File::create(&errors).map_err(file_error(&errors))?);
        let ended = self.interrupt.run(&mut command, self.time_limit);
        let ended = ended.map_err(|source| TrainError::CommandStart {
            program: words[0].clone(),
            source,
        })?;
        let Some(status) = ended else {
            let seconds = self.time_limit.as_secs();
            return Err(TrainError::CommandKilled { seconds });
        };
        if !status.success() {
            return Err(TrainError::CommandFailed {
                status: status.to_string(),
                last_line: last_line(&errors).map_err(file_error(&errors))?,
                path: errors,
            });
        }
        let last_line = last_line(&output).map_err(file_error(&output))?;
        last_number(&last_line).ok_or(TrainError::NoScore {
            last_line,
            path: output,
        })
    }

    fn write<'a>(
        &self,
        name: &str,
        texts: impl Iterator<Item = &'a str>,
    ) -> Result<(), TrainError> {
        let lines = texts.map(|text| text.replace(char::is_control, " ") + "\n");
        let written = replace_file(&self.folder, name, lines.collect::<String>().as_bytes());
        written.map_err(|source| TrainError::CommandFile {
            path: self.folder.join(name),
            source,
        })
    }
}

/// Returns the last line of a file that is not blank, without control characters.
fn last_line(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let n_bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(n_bytes.saturating_sub(MAX_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let last = text
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty());
    Ok(last.unwrap_or_default().replace(char::is_control, " "))
}

/// Returns the last word of a line that is a finite number.
fn last_number(line: &str) -> Option<f64> {
    let words = line.split(|c: char| c.is_whitespace() || ":=,;()[]\"".contains(c));
    let mut numbers = words.rev().filter_map(|word| word.parse::<f64>().ok());
    numbers.find(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_of_a_line_is_the_score() {
        assert_eq!(last_number("translations.txt\tscore: 0.8413"), Some(0.8413));
        assert_eq!(
            last_number("{\"n\": 200, \"score\": -1.5e-3, \"ok\": true"),
            Some(-0.0015)
        );
        assert_eq!(last_number("COMET=84 (200 pairs, seed 12)"), Some(12.0));
        assert_eq!(last_number("no score, nan"), None);
    }

    #[test]
    fn the_last_line_is_the_last_that_is_not_blank() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("output.txt");
        fs::write(&path, "x".repeat(9000) + "\n0.25\r\n \n")?;
        assert_eq!(last_line(&path)?, "0.25");
        Ok(())
    }
}
