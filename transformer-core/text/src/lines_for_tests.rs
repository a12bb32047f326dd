//! Lines of text in many scripts, and all kinds of tokenizers.

use super::TokenizerKind;

pub(crate) const KINDS: [TokenizerKind; 4] = [
    TokenizerKind::Word,
    TokenizerKind::Char,
    TokenizerKind::Bpe,
    TokenizerKind::Unigram,
];

/// Returns lines in many scripts, with every kind of whitespace, and with combining marks, cases and symbols in
/// unusual positions. Words are repeated often.
pub(crate) fn mixed_script_lines(n_lines: usize) -> Vec<String> {
    const LETTERS: [&str; 12] = [
        "abcdefgh ABC",
        "äöüßÄÉı İſ",
        "e\u{301}\u{323}a\u{308}o\u{327}\u{301}",
        "αβγσςΣΆᾳ\u{345}",
        "привет Йй\u{306}",
        "שלו\u{5b0}\u{5bc}ם",
        "مرح\u{64b}\u{651}با",
        "नम\u{93c}स\u{94d}ते",
        "ไท\u{e33}ย\u{e49}",
        "\u{1112}\u{1161}\u{11ab}한글가",
        "日本語。、カ\u{3099}ー",
        "👩\u{200d}👩\u{1f3fd}…½ﬁ<s>.,-–“”$+^\u{ac}",
    ];
    const BETWEEN: [&str; 16] = [
        " ", " ", " ", " ", "  ", "\t", "\u{a0}", "\u{3000}", "\u{2001}", "\u{2028}", "\u{85}",
        "\u{b}", "\0", "▁", " ▁ ", "\u{200b}",
    ];
    let mut state = 1_u64;
    let mut draw = |n: usize| {
        // The constants of Knuth's MMIX.
        state = state.wrapping_mul(6_364_136_223_846_793_005);
        state = state.wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let mut words = Vec::new();
    for n in 0..900 {
        let letters: Vec<char> = LETTERS[n % LETTERS.len()].chars().collect();
        let word = (0..1 + draw(7)).map(|_| letters[draw(letters.len())]);
        words.push(word.collect::<String>());
    }
    words.push("long".repeat(40));
    let line = |_| {
        let mut line = String::new();
        for _ in 0..draw(12) {
            line += BETWEEN[draw(BETWEEN.len())];
            // Drawn twice, so that some words are more frequent.
            let n_words = 1 + draw(words.len());
            line += &words[draw(n_words)];
        }
        line
    };
    (0..n_lines).map(line).collect()
}
