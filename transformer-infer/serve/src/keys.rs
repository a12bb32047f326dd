//! API keys: the permitted callers, and their rates.

use std::collections::HashMap;
use std::io::Read;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use std::{fmt, fs};

use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::config::ServeError;

const MAX_BYTES: u64 = 1 << 20;

/// Minimum number of characters of a key, so that it cannot be found by trial.
const MIN_CHARS: usize = 16;

/// The keys of a file: one per line, optionally followed by `name=…`, `chars=…` and `requests-per-minute=…`, separated
/// by spaces. Lines that begin with `#` are comments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys(Vec<Arc<Key>>);

pub(crate) struct Key {
    hash: [u8; 32],
    /// Its name in logs: `key N` of line N, unless the file has another.
    pub(crate) name: String,
    /// The owner of what is stored for the key: its name, or else digits of its hash. Keys of one name share it.
    pub(crate) account: Arc<str>,
    /// Maximum number of characters of a request; the server's limit if absent.
    pub(crate) max_chars: Option<usize>,
    /// Maximum number of requests per minute; the server's limit if absent.
    pub(crate) requests_per_minute: Option<NonZeroU32>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Key").field(&self.name).finish()
    }
}

/// Keys are compared by their hashes: these all have the same length.
fn sha256(text: &[u8]) -> [u8; 32] {
    Sha256::digest(text).into()
}

impl Keys {
    pub(crate) fn read(path: &Path) -> Result<Self, ServeError> {
        let failed = |source| ServeError::ReadKeys {
            path: path.to_owned(),
            source,
        };
        let file = fs::File::open(path).map_err(failed)?;
        let mut text = String::new();
        file.take(MAX_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(failed)?;
        let wrong = |line, problem| ServeError::Keys {
            path: path.to_owned(),
            line,
            problem,
        };
        if text.len() as u64 > MAX_BYTES {
            return Err(wrong(text.lines().count(), "the file has more than 1 MiB"));
        }
        Self::parse(&text).map_err(|(line, problem)| wrong(line, problem))
    }

    /// Reads the text of a file. An error is the number of the line and the problem, without the key.
    fn parse(text: &str) -> Result<Self, (usize, &'static str)> {
        let mut keys: Vec<Arc<Key>> = Vec::new();
        // Some editors begin files with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (line, number) in text.lines().zip(1..) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let key = Key::parse(line, number).map_err(|problem| (number, problem))?;
            if keys.iter().any(|other| other.hash == key.hash) {
                return Err((
                    number,
                    "this key is on an earlier line, too; remove one of them",
                ));
            }
            keys.push(Arc::new(key));
        }
        match keys.is_empty() {
            true => Err((
                1,
                "the file has no key; write one per line, or omit --api-keys",
            )),
            false => Ok(Self(keys)),
        }
    }

    /// Returns the key that was sent, in a time that does not depend on how much of it is right.
    pub(crate) fn find(&self, given: &str) -> Option<&Arc<Key>> {
        let hash = sha256(given.as_bytes());
        let mut found = None;
        for key in &self.0 {
            if bool::from(key.hash.ct_eq(&hash)) {
                found = Some(key);
            }
        }
        found
    }
}

impl Key {
    fn parse(line: &str, number: usize) -> Result<Self, &'static str> {
        let mut words = line.split_whitespace();
        let text = words.next().unwrap_or_default();
        if text.chars().count() < MIN_CHARS {
            return Err(
                "the key has fewer than 16 characters; make one with `openssl rand -hex 24`",
            );
        }
        let hash = sha256(text.as_bytes());
        let digits = hash[..8].iter().map(|byte| format!("{byte:02x}"));
        let mut key = Self {
            hash,
            account: digits.collect::<String>().into(),
            name: format!("key {number}"),
            max_chars: None,
            requests_per_minute: None,
        };
        for word in words {
            let number = "expected a positive whole number after `=`";
            match word.split_once('=') {
                Some(("name", name)) if !name.is_empty() => {
                    name.clone_into(&mut key.name);
                    key.account = name.into();
                }
                Some(("chars", value)) => {
                    key.max_chars = Some(value.parse().map_err(|_| number)?);
                }
                Some(("requests-per-minute", value)) => {
                    key.requests_per_minute = Some(value.parse().map_err(|_| number)?);
                }
                _ => {
                    return Err(
                        "expected name=NAME, chars=N or requests-per-minute=N after the key",
                    );
                }
            }
        }
        Ok(key)
    }
}

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
        let mut buckets = self.0.lock();
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
mod file_tests {
    use super::*;

    const ONE: &str = "0123456789abcdef";

    #[test]
    fn a_key_of_the_file_is_found_with_its_name_and_limits() {
        let text = format!("# ours\n\n{ONE} name=page chars=500 requests-per-minute=7\n");
        let keys = Keys::parse(&text).expect("the file is right");
        let key = keys.find(ONE).expect("the key is in it");
        assert_eq!((key.name.as_str(), key.max_chars), ("page", Some(500)));
        assert_eq!(key.requests_per_minute, NonZeroU32::new(7));
    }

    #[test]
    fn a_byte_order_mark_belongs_to_no_key() {
        let keys = Keys::parse(&format!("\u{feff}{ONE} name=page\r\n")).expect("the file is right");
        assert_eq!(keys.find(ONE).map(|key| key.name.as_str()), Some("page"));
        assert!(Keys::parse(&format!("\u{feff}# ours\n{ONE}")).is_ok());
    }

    #[test]
    fn other_keys_are_not_found() {
        let keys = Keys::parse(ONE).expect("the file is right");
        for key in [
            "",
            "0123456789abcde",
            "0123456789abcdeF",
            "0123456789abcdef ",
        ] {
            assert!(keys.find(key).is_none(), "{key:?}");
        }
    }

    #[test]
    fn a_key_without_a_name_is_called_by_its_line() {
        let keys = Keys::parse(&format!("# a\n{ONE}")).expect("the file is right");
        assert_eq!(keys.find(ONE).map(|key| key.name.as_str()), Some("key 2"));
    }

    #[test]
    fn a_wrong_line_is_refused_by_its_number() {
        let short = Keys::parse("# a\nshort");
        assert_eq!(short.map_err(|(line, _)| line).err(), Some(2));
        for rest in [
            "chars=-1",
            "chars=",
            "requests-per-minute=0",
            "name=",
            "nome=a",
            "a",
        ] {
            assert!(Keys::parse(&format!("{ONE} {rest}")).is_err(), "{rest}");
        }
        assert!(Keys::parse(&format!("{ONE}\n{ONE}")).is_err());
        assert!(Keys::parse("# none\n").is_err());
    }

    #[test]
    fn what_is_printed_for_debugging_has_no_key() {
        let keys = Keys::parse(ONE).expect("the file is right");
        assert_eq!(format!("{keys:?}"), r#"Keys([Key("key 1")])"#);
    }
}

#[cfg(test)]
mod rates_tests {
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
