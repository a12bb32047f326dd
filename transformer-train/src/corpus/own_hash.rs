//! A JSON text that contains its own hash, in the field `sha256`, by which damage is detected.

use transformer_core::directory::FileEntry;

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

/// Returns the SHA-256 of a text.
fn hash_of(text: &str) -> String {
    FileEntry::new(String::new(), text.as_bytes()).sha256
}

#[cfg(test)]
mod tests {
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
