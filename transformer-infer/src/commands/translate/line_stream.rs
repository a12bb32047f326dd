//! [`LineStream`]: groups of lines that arrive together on standard input.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use transformer_core::lines::LineError;

use crate::commands::{BYTES_AT_ONCE, CommandError, Lines};

/// Time that a group waits for its next line: longer than a program needs, and too short for a person to notice.
const PAUSE: Duration = Duration::from_millis(10);

const LINES_AHEAD: usize = 8;

/// Reads lines on a separate thread, so that a pause in the input can be distinguished from its end.
#[derive(Debug)]
pub(super) struct LineStream {
    lines: Receiver<Result<String, LineError>>,
    most: usize,
}

#[derive(Debug)]
pub(super) struct Group {
    pub(super) lines: Vec<String>,
    /// The error after these lines, if reading failed.
    pub(super) failure: Option<CommandError>,
}

impl LineStream {
    /// Starts reading from the reader that `open` returns. A group has at most `most` lines, at least 1, and fewer if
    /// they are long. Fails if the operating system cannot start a thread.
    pub(super) fn new(
        open: impl FnOnce() -> Result<Lines, LineError> + Send + 'static,
        most: usize,
    ) -> Result<Self, CommandError> {
        let (sender, lines) = sync_channel(LINES_AHEAD);
        // The thread ends with the input, with the first failure, or with the program.
        let reading = thread::Builder::new().spawn(move || {
            let lines = match open() {
                Ok(lines) => lines,
                Err(error) => return drop(sender.send(Err(error))),
            };
            for line in lines {
                let failed = line.is_err();
                if sender.send(line).is_err() || failed {
                    break;
                }
            }
        });
        reading.map_err(CommandError::InputThread)?;
        Ok(Self { lines, most })
    }

    /// Waits for a line, and returns it with those that follow without a pause. The group is empty at the end.
    pub(super) fn next_group(&self) -> Group {
        let mut lines = Vec::new();
        let mut n_bytes = 0;
        let mut arrived = self
            .lines
            .recv()
            .map_err(|_| RecvTimeoutError::Disconnected);
        loop {
            let failure = match arrived {
                Ok(Ok(line)) => {
                    n_bytes += line.len();
                    lines.push(line);
                    if lines.len() < self.most && n_bytes < BYTES_AT_ONCE {
                        arrived = self.lines.recv_timeout(PAUSE);
                        continue;
                    }
                    None
                }
                Ok(Err(failure)) => Some(failure.into()),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
            };
            return Group { lines, failure };
        }
    }
}

#[cfg(test)]
mod tests {
    use transformer_core::lines::{LineReader, STANDARD_INPUT};

    use super::*;

    fn stream(text: &'static [u8], most: usize) -> LineStream {
        LineStream::new(
            move || LineReader::new(STANDARD_INPUT, Box::new(text)),
            most,
        )
        .expect("a thread can be started")
    }

    #[test]
    fn groups_contain_all_lines_in_order_and_at_most_the_limit() {
        let stream = stream(b"a\nb\nc\n\nd", 2);
        let mut read = Vec::new();
        loop {
            let Group { lines, failure } = stream.next_group();
            assert!(failure.is_none() && lines.len() <= 2);
            if lines.is_empty() {
                break;
            }
            read.extend(lines);
        }
        assert_eq!(read, ["a", "b", "c", "", "d"]);
    }

    #[test]
    fn a_failure_follows_the_lines_before_it() {
        let stream = stream(b"a\n\xff\nb\n", 9);
        let mut n_lines = 0;
        let failure = loop {
            let group = stream.next_group();
            n_lines += group.lines.len();
            if let Some(failure) = group.failure {
                break failure;
            }
        };
        assert_eq!(n_lines, 1);
        assert!(
            failure
                .to_string()
                .starts_with("standard input, line 2: byte 1")
        );
        assert!(stream.next_group().lines.is_empty());
    }
}
