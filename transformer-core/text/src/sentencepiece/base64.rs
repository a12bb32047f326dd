//! Base64 (RFC 4648, §4), to embed a binary file in JSON.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes bytes as text, three bytes as four digits.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        for index in 0..4 {
            let digit = (bits >> (18 - 6 * index)) & 63;
            text.push(if index > group.len() {
                '='
            } else {
                char::from(DIGITS[digit as usize])
            });
        }
    }
    text
}

/// Decodes text; `None` if it is not valid Base64.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(4) {
        return None;
    }
    let n_groups = digits.len() / 4;
    for (index, group) in digits.chunks_exact(4).enumerate() {
        let n_digits = group.iter().take_while(|&&digit| digit != b'=').count();
        let is_last = index + 1 == n_groups;
        let is_padded = group[n_digits..].iter().all(|&digit| digit == b'=');
        if n_digits < 2 || !is_padded || (n_digits < 4 && !is_last) {
            return None;
        }
        let mut bits = 0;
        for &digit in &group[..n_digits] {
            bits = (bits << 6) | value(digit)?;
        }
        bits <<= 6 * (4 - n_digits);
        let [_, group @ ..] = bits.to_be_bytes();
        bytes.extend_from_slice(&group[..n_digits - 1]);
    }
    Some(bytes)
}

fn value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_vectors_of_the_rfc_hold() {
        let vectors = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (bytes, text) in vectors {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
    }

    #[test]
    fn decoding_restores_every_byte() {
        let bytes: Vec<u8> = (0..=255).rev().collect();
        assert_eq!(decode(&encode(&bytes)), Some(bytes));
    }

    #[test]
    fn invalid_text_is_refused() {
        for text in ["Zg", "Z===", "Zg==Zg==", "Zm=v", "Zm9-"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
