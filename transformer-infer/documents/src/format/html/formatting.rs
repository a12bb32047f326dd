//! Formatting elements such as `b` and `code`, which browsers reopen in the next block if they have not ended.
//!
//! This is the standard's list of active formatting elements and its adoption agency algorithm, as far as they affect
//! which text is inside which element.

use super::elements::is_special;
use super::tree::{Active, Open, Space, Tree};

/// Maximum number of reopened elements with equal tags, as in the standard.
const MAX_EQUAL: usize = 3;

const MAX_ACTIVE: usize = 256;

impl Tree {
    pub(super) fn activate(&mut self, active: Active) {
        let start = self.first_active();
        let is_equal =
            |other: &Active| other.name == active.name && other.tag_hash == active.tag_hash;
        let equal = &self.active[start..];
        if equal.iter().filter(|other| is_equal(other)).count() >= MAX_EQUAL
            && let Some(at) = equal.iter().position(is_equal)
        {
            self.active.remove(start + at);
        }
        if self.active.len() >= MAX_ACTIVE {
            self.active.remove(0);
        }
        self.active.push(active);
    }

    pub(super) fn reopen(&mut self) {
        let start = self.first_active();
        let last = self.active[start..].iter().rev();
        let n_closed = last.take_while(|it| !self.is_open(it.id)).count();
        for index in self.active.len() - n_closed..self.active.len() {
            let Active { name, own, .. } = &self.active[index];
            let (name, own) = (name.clone(), *own);
            self.push(&name, Space::Html, own);
            self.active[index].id = self.n_opened;
        }
    }

    /// Ends a formatting element. Blocks opened in it stay open, but elements open in these blocks end.
    pub(super) fn end_formatting(&mut self, name: &str) {
        let start = self.first_active();
        let mut active = self.active[start..].iter();
        let Some(found) = active.rposition(|it| it.name == name) else {
            self.close(name, is_special);
            return;
        };
        let id = self.active[start + found].id;
        if !self.is_open(id) {
            self.active.remove(start + found);
            return;
        }
        let Some(index) = self.search(|open| open.id == id, Open::is_scope) else {
            return;
        };
        self.active.remove(start + found);
        let innermost = self.open[index..].iter().rposition(Open::is_special);
        match innermost {
            None => self.open.truncate(index),
            Some(block) => {
                self.open.truncate(index + block + 1);
                // Elements that are neither blocks nor formatting elements end as well.
                let active = &self.active;
                let inner = self.open.split_off(index).into_iter().skip(1);
                self.open.extend(inner.filter(|open| {
                    open.is_special() || active.iter().any(|active| active.id == open.id)
                }));
                self.inherit(index.min(self.open.len()));
            }
        }
    }

    /// Returns the index of the first formatting element inside the innermost open cell or object.
    fn first_active(&mut self) -> usize {
        while let Some(limit) = self.active.iter().rposition(|active| active.is_limit) {
            if self.is_open(self.active[limit].id) {
                return limit + 1;
            }
            self.active.truncate(limit);
        }
        0
    }

    fn is_open(&self, id: u64) -> bool {
        // Elements are numbered in the order in which they were opened.
        self.open.binary_search_by_key(&id, |open| open.id).is_ok()
    }
}
