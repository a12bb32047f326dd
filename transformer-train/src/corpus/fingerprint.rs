//! Hashes: of a corpus ([`Fingerprint`]), of single pairs, and of a JSON text that contains its own.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use transformer_core::directory::FileEntry;
use transformer_core::random::hash;

/// A hash of the token ids of all pairs, in their order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    pub(crate) fn push(&mut self, src: &[u32], tgt: &[u32]) {
        for ids in [src, tgt] {
            let start = hash(self.0, ids.len() as u64);
            let add = |hashed, id: &u32| hash(hashed, u64::from(*id));
            self.0 = ids.iter().fold(start, add);
        }
    }

    pub(crate) fn push_counts(&mut self, counts: &[u64]) {
        self.0 = counts
            .iter()
            .fold(self.0, |hashed, count| hash(hashed, *count));
    }

    pub(crate) fn value(self) -> u64 {
        self.0
    }
}

/// The pairs that occurred before, by a 64-bit hash of each. Among four million pairs, the probability of a collision is
/// one in a million.
#[derive(Debug, Default)]
pub(super) struct SeenPairs(HashSet<u64>);

impl SeenPairs {
    pub(super) fn insert(&mut self, pair: &(String, String)) -> bool {
        let mut hasher = DefaultHasher::new();
        pair.hash(&mut hasher);
        self.0.insert(hasher.finish())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// The field while the hash is computed.
const NO_HASH: &str = "\"sha256\": \"\"";

/// Fills the field `sha256` of a JSON text, an empty string, with the hash of the text. It is the first such field.
pub(crate) fn with_own_hash(json: &str) -> String {
    json.replacen(NO_HASH, &field(&hash_of(json)), 1)
}

/// Returns whether [`with_own_hash`] returned this JSON text; `sha256` is the value of its field.
pub(crate) fn has_own_hash(json: &str, sha256: &str) -> bool {
    hash_of(&json.replacen(&field(sha256), NO_HASH, 1)) == sha256
}

fn field(sha256: &str) -> String {
    format!("\"sha256\": \"{sha256}\"")
}

fn hash_of(text: &str) -> String {
    FileEntry::new(String::new(), text.as_bytes()).sha256
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint(pairs: &[(&[u32], &[u32])]) -> u64 {
        let mut fingerprint = Fingerprint::default();
        for (src, tgt) in pairs {
            fingerprint.push(src, tgt);
        }
        fingerprint.value()
    }

    #[test]
    fn ids_their_order_and_their_side_change_the_fingerprint() {
        let one = fingerprint(&[(&[5, 6], &[7]), (&[8], &[9])]);
        assert_ne!(one, fingerprint(&[(&[8], &[9]), (&[5, 6], &[7])]));
        assert_ne!(one, fingerprint(&[(&[5], &[6, 7]), (&[8], &[9])]));
        assert_ne!(one, fingerprint(&[(&[6, 5], &[7]), (&[8], &[9])]));
        assert_eq!(one, fingerprint(&[(&[5, 6], &[7]), (&[8], &[9])]));
    }
}

#[cfg(test)]
mod own_hash_tests {
    use super::*;

    const EMPTY: &str = "{\n  \"format\": 7,\n  \"sha256\": \"\"\n}";

    fn hash_in(json: &str) -> String {
        let json: serde_json::Value = serde_json::from_str(json).expect("it is JSON");
        json["sha256"].as_str().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_text_has_the_hash_that_was_written() {
        let json = with_own_hash(EMPTY);
        assert!(has_own_hash(&json, &hash_in(&json)));
    }

    #[test]
    fn a_changed_number_or_hash_is_noticed() {
        let json = with_own_hash(EMPTY);
        let hash = hash_in(&json);
        assert!(!has_own_hash(&json.replace('7', "8"), &hash));
        assert!(!has_own_hash(&json, "0"));
        assert!(!has_own_hash(EMPTY, ""));
    }
}
