//! Extended tokenizers of every kind that training makes.

use super::*;
use crate::lines_for_tests::mixed_script_lines;
use crate::{N_SPECIAL, Tokenizer, TokenizerConfig, TokenizerKind};

const LINES: [&str; 5] = [
    "the patient has a rare disease of the heart",
    "the hospital treats the patients, and the doctors rest.",
    "hospitals are rare; cardiac arrest is not",
    "a cardiologist treats hearts",
    "Städte, Häuser: 1999 – 2999!",
];

fn trained(kind: TokenizerKind, byte_fallback: bool) -> Tokenizer {
    let config = TokenizerConfig {
        kind,
        vocab_size: if byte_fallback { 400 } else { 120 },
        byte_fallback,
        ..TokenizerConfig::default()
    };
    Tokenizer::train(&config, LINES).expect("the text has words")
}

/// The tokenizers of pieces, and that of words.
fn tokenizers() -> Vec<Tokenizer> {
    vec![
        trained(TokenizerKind::Bpe, false),
        trained(TokenizerKind::Bpe, true),
        trained(TokenizerKind::Unigram, false),
        trained(TokenizerKind::Unigram, true),
        trained(TokenizerKind::Word, false),
    ]
}

const PIECES: [&str; 4] = ["cardiomyopathy", "hospitalization", "日本", "Häusern"];

#[test]
fn every_piece_is_one_token_and_is_decoded() {
    for tokenizer in tokenizers() {
        let extended = tokenizer.extended(&PIECES, PiecePosition::WordStart);
        let extended = extended.expect("the pieces are new").tokenizer;
        for piece in PIECES {
            let ids = extended.encode(&format!("the {piece} treats"));
            assert_eq!(ids.len(), tokenizer.encode("the treats").len() + 1);
            assert_eq!(extended.decode(&extended.encode(piece)), piece);
        }
    }
}

#[test]
fn tokens_keep_their_ids_and_new_ones_come_last() {
    for tokenizer in tokenizers() {
        let n_before = tokenizer.vocab_size();
        let extended = tokenizer.extended(&PIECES, PiecePosition::WordStart);
        let ExtendedTokenizer {
            tokenizer: extended,
            added,
        } = extended.expect("the pieces are new");
        for id in 0..n_before as u32 {
            assert_eq!(extended.token(id), tokenizer.token(id));
        }
        assert_eq!(extended.vocab_size(), n_before + added.len());
        for (token, id) in added.iter().zip(n_before as u32..) {
            assert_eq!(extended.token(id).as_ref(), Some(&token.token));
        }
    }
}

#[test]
fn text_without_the_new_tokens_is_encoded_as_before() {
    let texts = mixed_script_lines(500).into_iter();
    let texts: Vec<String> = texts.chain(LINES.map(str::to_owned)).collect();
    for tokenizer in tokenizers() {
        let extended = tokenizer.extended(&PIECES, PiecePosition::WordStart);
        let ExtendedTokenizer {
            tokenizer: extended,
            added,
        } = extended.expect("the pieces are new");
        let mut n_equal = 0;
        for word in texts.iter().flat_map(|text| text.split_whitespace()) {
            let marked = format!("▁{word}");
            if added.iter().all(|it| !marked.contains(&it.token)) {
                assert_eq!(extended.encode(word), tokenizer.encode(word), "{word}");
                n_equal += 1;
            }
        }
        assert!(n_equal > 1000, "{n_equal}");
    }
}

#[test]
fn parts_are_the_tokens_before() {
    for tokenizer in tokenizers() {
        let extended = tokenizer.extended(&PIECES, PiecePosition::WordStart);
        let added = extended.expect("the pieces are new").added;
        for piece in PIECES {
            let of_piece = added
                .iter()
                .find(|it| it.token.trim_start_matches('▁') == piece);
            let before = tokenizer.encode(piece).into_iter();
            let before: Vec<u32> = before.filter(|id| *id as usize >= N_SPECIAL).collect();
            let found = of_piece.expect("it was added");
            assert_eq!(found.parts, before, "{piece}");
        }
    }
}

#[test]
fn a_piece_within_words_is_found_there() {
    for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram] {
        let tokenizer = trained(kind, false);
        let extended = tokenizer.extended(&["ologists"], PiecePosition::InWord);
        let extended = extended.expect("the piece is new").tokenizer;
        let id = extended.id("ologists").expect("it was added");
        assert_eq!(extended.encode("cardiologists").last(), Some(&id), "{kind}");
        assert_eq!(
            extended.decode(&extended.encode("cardiologists")),
            "cardiologists"
        );
    }
}

#[test]
fn an_extended_tokenizer_is_extended_again() {
    for tokenizer in tokenizers() {
        let mut extended = tokenizer.clone();
        for piece in PIECES {
            let more = extended.extended(&[piece], PiecePosition::WordStart);
            extended = more.expect("the piece is new").tokenizer;
        }
        for piece in PIECES {
            assert_eq!(extended.encode(piece).len(), 1, "{piece}");
        }
    }
}

fn refusal(tokenizer: &Tokenizer, pieces: &[&str]) -> String {
    let extended = tokenizer.extended(pieces, PiecePosition::WordStart);
    extended.expect_err("it is refused").to_string()
}

#[test]
fn pieces_that_cannot_be_tokens_are_refused() {
    for tokenizer in tokenizers() {
        for (pieces, expected) in [
            (&[][..], "no piece to add"),
            (&["a b"], "`a b` is blank or has spaces"),
            (&["\u{a0}"], "is blank or has spaces"),
            (&["heartache", "heartache"], "`heartache` is given twice"),
            (&["</s>"], "`</s>` is reserved for a special token"),
            (&["<0x0A>"], "`<0x0A>` is reserved for a special token"),
        ] {
            let message = refusal(&tokenizer, pieces);
            assert!(message.contains(expected), "{message}");
        }
        let long = "a".repeat(200);
        assert!(refusal(&tokenizer, &[&long]).contains("more than 128 characters"));
    }
}

#[test]
fn a_piece_of_the_vocabulary_is_refused_with_its_token() {
    let message = refusal(&trained(TokenizerKind::Bpe, false), &["the"]);
    let expected = "`the` is already in the vocabulary, as `▁the`; leave it out";
    assert_eq!(message, expected);
}

#[test]
fn letters_and_punctuation_are_refused_with_their_parts() {
    for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram] {
        let message = refusal(&trained(kind, false), &["C++"]);
        assert!(message.ends_with("into `C`, `++` before it looks for pieces; give these instead"));
    }
    let message = refusal(&trained(TokenizerKind::Char, false), &["ab"]);
    assert!(message.contains("`a`, `b`"), "{message}");
}

#[test]
fn a_vocabulary_of_characters_gets_characters() {
    let tokenizer = trained(TokenizerKind::Char, false);
    let extended = tokenizer.extended(&["本"], PiecePosition::WordStart);
    let extended = extended.expect("the character is new").tokenizer;
    assert_eq!(
        extended.decode(&extended.encode("the 本 heart")),
        "the 本 heart"
    );
}
