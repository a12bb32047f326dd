//! [`Budget`]: a limited quantity, such as memory for bodies, with a share for each caller.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// A limited quantity; clones share it.
///
/// A caller may hold as much as it leaves free: half of the quantity if it is alone. Of the last quarter, it may hold
/// only an equal part of what it leaves free, divided by the number of callers that hold any. So a newcomer gets
/// something until many callers have come: 42 fill a limit of 512.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    used: Arc<Mutex<Used>>,
    most: usize,
    /// The amount that a caller may hold in any case, if so much is left.
    at_least: usize,
}

#[derive(Debug, Default)]
struct Used {
    all: Parts,
    of_strangers: Parts,
}

#[derive(Debug, Default)]
struct Parts {
    sum: usize,
    of_callers: HashMap<u64, usize>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Claimant {
    pub(crate) id: u64,
    /// True if a key is required, and no valid one is known of the request yet. All such callers together hold at most
    /// half, which they share as all callers share the whole.
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

    pub(crate) fn take(&self, claimant: Claimant, n: usize) -> Option<Share> {
        let mut share = self.take_nothing(claimant);
        share.grow(n).then_some(share)
    }

    /// Takes an empty part for a caller, which may grow.
    pub(crate) fn take_nothing(&self, claimant: Claimant) -> Share {
        Share {
            budget: self.clone(),
            claimant,
            n: 0,
        }
    }

    pub(crate) fn used(&self) -> usize {
        self.used.lock().all.sum
    }

    pub(crate) fn used_by(&self, caller: u64) -> usize {
        self.used.lock().all.of(caller)
    }

    fn allows(&self, used: &Used, claimant: Claimant, n: usize) -> bool {
        let Claimant { id, is_stranger } = claimant;
        let of_strangers = (&used.of_strangers, self.most.div_ceil(2));
        let limits = [
            Some((&used.all, self.most)),
            is_stranger.then_some(of_strangers),
        ];
        let mut limits = limits.into_iter().flatten();
        limits.all(|(parts, most)| parts.allow(id, n, most, self.at_least))
    }
}

impl Used {
    fn parts(&mut self, claimant: Claimant) -> impl Iterator<Item = &mut Parts> {
        let of_strangers = claimant.is_stranger.then_some(&mut self.of_strangers);
        [Some(&mut self.all), of_strangers].into_iter().flatten()
    }

    fn add(&mut self, claimant: Claimant, n: usize) {
        for parts in self.parts(claimant) {
            parts.sum += n;
            *parts.of_callers.entry(claimant.id).or_default() += n;
        }
    }

    fn remove(&mut self, claimant: Claimant, n: usize) {
        for parts in self.parts(claimant) {
            parts.sum -= n;
            let left = parts.of(claimant.id) - n;
            match left {
                0 => parts.of_callers.remove(&claimant.id),
                left => parts.of_callers.insert(claimant.id, left),
            };
        }
    }
}

impl Parts {
    fn of(&self, caller: u64) -> usize {
        self.of_callers.get(&caller).copied().unwrap_or(0)
    }

    /// Returns whether a caller may take `n` more of a quantity of `most`.
    fn allow(&self, caller: u64, n: usize, most: usize, at_least: usize) -> bool {
        let Some(free) = most.checked_sub(self.sum).and_then(|it| it.checked_sub(n)) else {
            return false;
        };
        let of_caller = self.of(caller);
        let n_callers = self.of_callers.len() + usize::from(of_caller == 0);
        let share = match free < most / 4 {
            true => free / n_callers,
            false => free,
        };
        of_caller + n <= share.max(at_least)
    }
}

impl Share {
    /// Takes `n` more, if the caller's share has that much left; returns whether it had.
    pub(crate) fn grow(&mut self, n: usize) -> bool {
        let mut used = self.budget.used.lock();
        let grows = n == 0 || self.budget.allows(&used, self.claimant, n);
        if grows && n > 0 {
            used.add(self.claimant, n);
            self.n += n;
        }
        grows
    }

    /// Gives the part to another caller, if that one's share has so much left; returns whether it is that one's now.
    pub(crate) fn give(&mut self, to: Claimant) -> bool {
        if to.id == self.claimant.id {
            return true;
        }
        let mut used = self.budget.used.lock();
        used.remove(self.claimant, self.n);
        let is_given = self.n == 0 || self.budget.allows(&used, to, self.n);
        if is_given {
            self.claimant = to;
        }
        if self.n > 0 {
            used.add(self.claimant, self.n);
        }
        is_given
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.used.lock().remove(self.claimant, self.n);
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
        assert!(budget.used.lock().all.of_callers.is_empty());
        assert!(budget.take(caller(1), usize::MAX).is_none());
    }

    #[test]
    fn a_caller_holds_no_more_than_it_leaves_free() {
        let budget = Budget::new(12, 1);
        let held = [1, 2, 3].map(|id| all_of(&budget, caller(id)));
        assert_eq!(held.each_ref().map(Vec::len), [6, 3, 1]);
        assert!(budget.take(caller(4), 1).is_some());
    }

    fn stranger(id: u64) -> Claimant {
        Claimant {
            id,
            is_stranger: true,
        }
    }

    fn all_of(budget: &Budget, claimant: Claimant) -> Vec<Share> {
        std::iter::from_fn(|| budget.take(claimant, 1)).collect()
    }

    #[test]
    fn a_nearly_full_budget_has_something_for_many_newcomers() {
        let budget = Budget::new(512, 1);
        let held = (0..10).map(|id| all_of(&budget, caller(id)));
        let held: Vec<_> = held.collect();
        let amounts: Vec<usize> = held.iter().map(Vec::len).collect();
        assert_eq!(amounts[..4], [256, 128, 32, 19]);
        assert!(budget.take(caller(1), 1).is_none());
        let newcomers: Vec<_> = (10..).map_while(|id| budget.take(caller(id), 1)).collect();
        assert!(newcomers.len() > 20, "{}", newcomers.len());
        assert_eq!(budget.used(), 512);
    }

    #[test]
    fn callers_without_a_key_leave_half_to_those_with_one() {
        let budget = Budget::new(12, 12);
        let strangers = (0..100).filter_map(|id| budget.take(stranger(id), 1));
        let strangers: Vec<Share> = strangers.collect();
        assert_eq!(strangers.len(), 6);
        assert!(budget.take(caller(200), 3).is_some());
        drop(strangers);
        assert_eq!(budget.used.lock().of_strangers.sum, 0);
    }

    #[test]
    fn a_caller_without_a_key_leaves_half_of_that_half_to_the_others() {
        let budget = Budget::new(12, 1);
        let held = all_of(&budget, stranger(1));
        assert_eq!(held.len(), 3);
        assert!(budget.take(stranger(2), 1).is_some());
    }

    #[test]
    fn a_part_is_given_to_a_caller_with_room_for_it() {
        let budget = Budget::new(12, 1);
        let mut shares = all_of(&budget, stranger(1));
        let _held = budget.take(caller(2), 4).expect("half is free");
        assert!(shares[0].give(caller(2)));
        assert!(!shares[1].give(caller(2)), "it leaves five free");
        assert!(shares[0].give(caller(2)), "it has it");
        assert_eq!((budget.used_by(1), budget.used_by(2)), (2, 5));
        drop(shares);
        assert_eq!((budget.used(), budget.used.lock().of_strangers.sum), (4, 0));
    }

    #[test]
    fn nothing_can_always_be_taken() {
        let budget = Budget::new(1, 1);
        let mut empty = budget.take_nothing(caller(1));
        let _full = budget.take(caller(2), 1).expect("it is free");
        assert!(empty.grow(0) && !empty.grow(1));
    }
}
