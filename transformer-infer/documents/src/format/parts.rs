//! [`Parts`]: the iterator that all formats share, and [`PartQueue`], the queue of the parts that they have read.

use std::collections::VecDeque;

use crate::{Part, Passage, ReadError};

/// Maximum size of a verbatim part, in bytes.
const MAX_VERBATIM_BYTES: usize = 1 << 16;

/// A format: reads a document piece by piece.
pub(super) trait ReadParts {
    /// Reads some more and adds parts to the queue; returns whether there may be more to read.
    fn read_parts(&mut self, parts: &mut PartQueue) -> Result<bool, ReadError>;
}

/// The parts of a document; ends after the first error.
#[derive(Debug)]
pub(super) struct Parts<S> {
    source: S,
    queue: PartQueue,
    has_ended: bool,
    /// The error to return after the parts read before it.
    error: Option<ReadError>,
}

/// Parts that have been read but not returned.
#[derive(Debug, Default)]
pub(super) struct PartQueue(VecDeque<Part>);

impl<S: ReadParts> Parts<S> {
    /// Makes the iterator over the parts of a source.
    pub(super) fn new(source: S) -> Self {
        Self {
            source,
            queue: PartQueue::default(),
            has_ended: false,
            error: None,
        }
    }
}

impl<S: ReadParts> Iterator for Parts<S> {
    type Item = Result<Part, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.has_ended {
            if let Some(part) = self.queue.pop_complete() {
                return Some(Ok(part));
            }
            match self.source.read_parts(&mut self.queue) {
                Ok(has_more) => self.has_ended = !has_more,
                Err(error) => {
                    self.has_ended = true;
                    self.error = Some(error);
                }
            }
        }
        match self.queue.0.pop_front() {
            Some(part) => Some(Ok(part)),
            None => self.error.take().map(Err),
        }
    }
}

impl PartQueue {
    /// Adds copied text, to the verbatim part before it if that is small.
    pub(super) fn push_verbatim(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(Part::Verbatim(last)) = self.0.back_mut() {
                let room = MAX_VERBATIM_BYTES.saturating_sub(last.len());
                let (fits, left) = rest.split_at(rest.floor_char_boundary(room));
                last.push_str(fits);
                rest = left;
            }
            if !rest.is_empty() {
                self.0.push_back(Part::Verbatim(String::new()));
            }
        }
    }

    /// Adds a passage.
    pub(super) fn push_passage(&mut self, passage: Passage) {
        self.0.push_back(Part::Passage(passage));
    }

    /// Returns all parts, in order.
    pub(super) fn into_parts(self) -> Vec<Part> {
        self.0.into()
    }

    /// Returns the first part, unless it is a verbatim part that may still grow.
    fn pop_complete(&mut self) -> Option<Part> {
        match self.0.front() {
            Some(Part::Verbatim(_)) if self.0.len() == 1 => None,
            _ => self.0.pop_front(),
        }
    }
}
