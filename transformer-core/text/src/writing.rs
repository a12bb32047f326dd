//! Writing systems.

/// Returns whether a character says as much as several letters: Han, kana, Hangul.
pub fn is_dense(c: char) -> bool {
    matches!(u32::from(c), 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0x20000..)
}

/// Returns whether a character is of a writing system that does not separate words by spaces: Thai, Lao, Burmese,
/// Khmer; Han, Hiragana, Katakana, their marks and punctuation, and punctuation of full width.
pub fn is_without_spaces(c: char) -> bool {
    let is_full_width_letter = matches!(c,
        '\u{FF10}'..='\u{FF19}' | '\u{FF21}'..='\u{FF3A}' | '\u{FF41}'..='\u{FF5A}' | '\u{FFA0}'..='\u{FFDC}'
    );
    let is_in_block = matches!(c,
        '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{2E80}'..='\u{2FDF}'
        | '\u{3000}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{FF00}'..='\u{FFEF}' | '\u{20000}'..='\u{3FFFF}'
    );
    is_in_block && !is_full_width_letter
}
