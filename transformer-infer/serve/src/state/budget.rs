//! [`Budget`]: a limited quantity, such as memory for bodies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A limited quantity; clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    used: Arc<AtomicUsize>,
    most: usize,
}

/// A part of a budget, returned when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Budget,
    n: usize,
}

impl Budget {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            used: Arc::default(),
            most,
        }
    }

    /// Takes a part, if so much is left.
    pub(crate) fn take(&self, n: usize) -> Option<Share> {
        let mut share = Share {
            budget: self.clone(),
            n: 0,
        };
        share.grow(n).then_some(share)
    }

    /// Returns the amount in use.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

impl Share {
    /// Takes `n` more, if that much is left; returns whether it was.
    pub(crate) fn grow(&mut self, n: usize) -> bool {
        let Budget { used, most } = &self.budget;
        let add = |used: usize| used.checked_add(n).filter(|sum| sum <= most);
        let has_grown = used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add)
            .is_ok();
        self.n += if has_grown { n } else { 0 };
        has_grown
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.n, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_given_than_there_is_and_what_is_dropped_comes_back() {
        let budget = Budget::new(5);
        let mut share = budget.take(3).expect("there are five");
        assert!(budget.take(3).is_none());
        assert!(share.grow(2) && !share.grow(1));
        assert_eq!(budget.used(), 5);
        drop(share);
        assert_eq!(budget.used(), 0);
        assert!(budget.take(usize::MAX).is_none());
    }
}
