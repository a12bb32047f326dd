//! [`Rates`]: the number of requests that each caller may still send.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Maximum number of callers that are remembered.
const MAX_CALLERS: usize = 100_000;

/// Counts the requests of each caller with a token bucket: it holds the requests of a minute, and refills evenly.
#[derive(Debug, Default)]
pub(crate) struct Rates(Mutex<HashMap<u64, Bucket>>);

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Number of requests that the caller may send at once.
    n_left: f64,
    updated: Instant,
    per_second: f64,
    most: f64,
}

impl Rates {
    /// Counts a request of a caller; if there are too many, returns the seconds until the next one is accepted.
    pub(crate) fn count(
        &self,
        caller: u64,
        per_minute: NonZeroU32,
        now: Instant,
    ) -> Result<(), u64> {
        let most = f64::from(per_minute.get());
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_CALLERS && !buckets.contains_key(&caller) {
            // A full bucket is equivalent to none.
            buckets.retain(|_, bucket| bucket.filled(now) < bucket.most);
            if buckets.len() >= MAX_CALLERS {
                return Err(60);
            }
        }
        let bucket = buckets.entry(caller).or_insert(Bucket {
            n_left: most,
            updated: now,
            per_second: most / 60.0,
            most,
        });
        (bucket.most, bucket.per_second) = (most, most / 60.0);
        bucket.n_left = bucket.filled(now);
        bucket.updated = now;
        if bucket.n_left < 1.0 {
            let seconds = (1.0 - bucket.n_left) / bucket.per_second;
            return Err(seconds.ceil().max(1.0) as u64);
        }
        bucket.n_left -= 1.0;
        Ok(())
    }
}

impl Bucket {
    fn filled(&self, now: Instant) -> f64 {
        let seconds = now.saturating_duration_since(self.updated).as_secs_f64();
        (self.n_left + seconds * self.per_second).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const THREE: NonZeroU32 = NonZeroU32::new(3).expect("three is not zero");

    #[test]
    fn a_caller_may_send_so_many_at_once_and_then_one_after_the_other() {
        let (rates, start) = (Rates::default(), Instant::now());
        for _ in 0..3 {
            assert_eq!(rates.count(1, THREE, start), Ok(()));
        }
        assert_eq!(rates.count(1, THREE, start), Err(20));
        assert_eq!(
            rates.count(1, THREE, start + Duration::from_secs(15)),
            Err(5)
        );
        assert_eq!(
            rates.count(1, THREE, start + Duration::from_secs(21)),
            Ok(())
        );
    }

    #[test]
    fn callers_do_not_count_for_each_other() {
        let (rates, start) = (Rates::default(), Instant::now());
        for caller in 0..9 {
            assert_eq!(rates.count(caller, THREE, start), Ok(()));
        }
    }
}
