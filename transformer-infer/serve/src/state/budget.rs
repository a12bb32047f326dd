//! [`Budget`]: a limited quantity, such as memory for bodies, with a share for each caller.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A limited quantity; clones share it.
///
/// A caller may hold as much as it leaves free: half of the quantity if it is alone, and an eleventh if ten others take
/// all they can. So there is always something left for the next caller.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    used: Arc<Mutex<Used>>,
    most: usize,
    /// The amount that a caller may hold in any case, if so much is left.
    at_least: usize,
}

#[derive(Debug, Default)]
struct Used {
    all: usize,
    of_strangers: usize,
    of_callers: HashMap<u64, usize>,
}

/// The caller who holds a share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claimant {
    /// The caller's number.
    pub(crate) id: u64,
    /// True if a key is required, and the head of the request has none: all such callers together hold at most half.
    pub(crate) is_stranger: bool,
}

/// A part of a budget, returned when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Budget,
    claimant: Claimant,
    n: usize,
}

impl Budget {
    pub(crate) fn new(most: usize, at_least: usize) -> Self {
        Self {
            used: Arc::default(),
            most,
            at_least,
        }
    }

    /// Takes a part for a caller, if its share has so much left.
    pub(crate) fn take(&self, claimant: Claimant, n: usize) -> Option<Share> {
        let mut share = Share {
            budget: self.clone(),
            claimant,
            n: 0,
        };
        share.grow(n).then_some(share)
    }

    /// Returns the amount in use.
    pub(crate) fn used(&self) -> usize {
        self.lock().all
    }

    /// Returns the amount that a caller holds.
    pub(crate) fn used_by(&self, caller: u64) -> usize {
        self.lock().of_callers.get(&caller).copied().unwrap_or(0)
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// Takes `n` more, if the caller's share has that much left; returns whether it had.
    pub(crate) fn grow(&mut self, n: usize) -> bool {
        let Budget { most, at_least, .. } = self.budget;
        let Claimant { id, is_stranger } = self.claimant;
        let mut used = self.budget.lock();
        let of_caller = used.of_callers.get(&id).copied().unwrap_or(0);
        let Some(all) = used.all.checked_add(n).filter(|all| *all <= most) else {
            return false;
        };
        let of_strangers = used.of_strangers + if is_stranger { n } else { 0 };
        if of_caller + n > (most - all).max(at_least)
            || is_stranger && of_strangers > (most / 2).max(at_least)
        {
            return false;
        }
        used.all = all;
        used.of_strangers = of_strangers;
        if n > 0 {
            used.of_callers.insert(id, of_caller + n);
        }
        self.n += n;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let Claimant { id, is_stranger } = self.claimant;
        let mut used = self.budget.lock();
        used.all -= self.n;
        used.of_strangers -= if is_stranger { self.n } else { 0 };
        let of_caller = used.of_callers.get(&id).copied().unwrap_or(0);
        if of_caller > self.n {
            used.of_callers.insert(id, of_caller - self.n);
        } else {
            used.of_callers.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(id: u64) -> Claimant {
        Claimant {
            id,
            is_stranger: false,
        }
    }

    #[test]
    fn no_more_is_given_than_there_is_and_what_is_dropped_comes_back() {
        let budget = Budget::new(5, 5);
        let mut share = budget.take(caller(1), 3).expect("there are five");
        assert!(budget.take(caller(1), 3).is_none());
        assert!(share.grow(2) && !share.grow(1));
        assert_eq!((budget.used(), budget.used_by(1)), (5, 5));
        drop(share);
        assert_eq!((budget.used(), budget.used_by(1)), (0, 0));
        assert!(budget.lock().of_callers.is_empty());
        assert!(budget.take(caller(1), usize::MAX).is_none());
    }

    #[test]
    fn a_caller_holds_no_more_than_it_leaves_free() {
        let budget = Budget::new(12, 1);
        let take_all = |id| {
            let taken = std::iter::from_fn(|| budget.take(caller(id), 1));
            taken.collect::<Vec<Share>>()
        };
        let held = [1, 2, 3].map(take_all);
        assert_eq!(held.each_ref().map(Vec::len), [6, 3, 1]);
        assert!(budget.take(caller(4), 1).is_some());
    }

    #[test]
    fn callers_without_a_key_leave_half_to_those_with_one() {
        let budget = Budget::new(12, 1);
        let strangers = (0..100).filter_map(|id| {
            let is_stranger = true;
            budget.take(Claimant { id, is_stranger }, 1)
        });
        let strangers: Vec<Share> = strangers.collect();
        assert_eq!(strangers.len(), 6);
        assert!(budget.take(caller(200), 3).is_some());
        drop(strangers);
        assert_eq!(budget.lock().of_strangers, 0);
    }
}
