//! Models that are small enough to segment text by hand.

use super::SentencePieceError;
use super::model::{PieceSpan, SentencePiece};
use super::vocabulary::{PieceVocabulary, SpecialIds};
use crate::{BOS, EOS, PAD, PiecePosition, Tokenizer, UNK};

const NORMAL: u8 = 1;
const UNKNOWN: u8 = 2;
const CONTROL: u8 = 3;
const USER_DEFINED: u8 = 4;
const UNUSED: u8 = 5;

const UNIGRAM: u8 = 1;
const BPE: u8 = 2;

/// Writes a model file: special tokens, then these pieces with score and kind, and settings of the trainer.
fn file(pieces: &[(&str, f32, u8)], trainer: &[u8]) -> Vec<u8> {
    let special = [
        ("<unk>", 0.0, UNKNOWN),
        ("<s>", 0.0, CONTROL),
        ("</s>", 0.0, CONTROL),
    ];
    let mut file = Vec::new();
    for (text, score, kind) in special.iter().chain(pieces) {
        let mut piece = vec![0x0A, text.len() as u8];
        piece.extend(text.as_bytes());
        piece.push(0x15);
        piece.extend(score.to_le_bytes());
        piece.extend([0x18, *kind]);
        file.extend([0x0A, piece.len() as u8]);
        file.extend(piece);
    }
    file.extend([0x12, trainer.len() as u8]);
    file.extend(trainer);
    file
}

fn model(kind: u8, pieces: &[(&str, f32, u8)]) -> SentencePiece {
    SentencePiece::parse(&file(pieces, &[0x18, kind])).expect("the file is complete")
}

fn split(model: &SentencePiece, line: &str) -> Vec<String> {
    let pieces = model.split(line).into_iter();
    pieces.map(|PieceSpan { piece, .. }| piece).collect()
}

#[test]
fn the_segmentation_with_the_highest_score_is_returned() {
    let pieces = [
        ("▁a", -2.0, NORMAL),
        ("b", -2.0, NORMAL),
        ("c", -2.0, NORMAL),
        ("bc", -3.5, NORMAL),
        ("▁ab", -4.5, NORMAL),
        ("▁", -9.0, NORMAL),
    ];
    // ▁a + bc = −5.5, ▁a + b + c = −6, ▁ab + c = −6.5.
    assert_eq!(split(&model(UNIGRAM, &pieces), "abc"), ["▁a", "bc"]);
}

#[test]
fn unknown_neighbors_are_one_part() {
    let model = model(UNIGRAM, &[("▁", -1.0, NORMAL), ("a", -1.0, NORMAL)]);
    let found = model.split(" xüaz");
    // The mark is put before the first word, which starts after the space.
    let expected = [("▁", 1..1), ("xü", 1..4), ("a", 4..5), ("z", 5..6)];
    let expected = expected.map(|(piece, span)| PieceSpan {
        piece: piece.to_owned(),
        span,
    });
    assert_eq!(found, expected);
}

#[test]
fn user_defined_symbols_are_always_used() {
    let pieces = [
        ("▁", -1.0, NORMAL),
        ("<a>", 0.0, USER_DEFINED),
        ("<", -1.0, NORMAL),
        ("a>", -1.0, NORMAL),
        ("x<a", -0.5, NORMAL),
        ("x", -3.0, NORMAL),
    ];
    for kind in [UNIGRAM, BPE] {
        assert_eq!(
            split(&model(kind, &pieces), "x<a>"),
            ["▁", "x", "<a>"],
            "{kind}"
        );
    }
}

#[test]
fn bpe_merges_by_score_and_then_from_the_left() {
    let pieces = [
        ("aa", -0.0, NORMAL),
        ("▁", -9.0, NORMAL),
        ("a", -9.0, NORMAL),
        ("b", -9.0, NORMAL),
        ("ab", -1.0, NORMAL),
    ];
    // `aa` at the start, then `ab`; the other order would leave a single `a` in the middle.
    assert_eq!(split(&model(BPE, &pieces), "aaab"), ["▁", "aa", "ab"]);
}

#[test]
fn an_unused_piece_is_split_again() {
    let pieces = [
        ("▁", -9.0, NORMAL),
        ("a", -9.0, NORMAL),
        ("b", -9.0, NORMAL),
        ("ab", -0.0, UNUSED),
        ("abab", -1.0, NORMAL),
    ];
    assert_eq!(split(&model(BPE, &pieces), "ab"), ["▁", "a", "b"]);
    assert_eq!(split(&model(BPE, &pieces), "abab"), ["▁", "abab"]);
    assert_eq!(split(&model(UNIGRAM, &pieces), "ab"), ["▁", "a", "b"]);
}

#[test]
fn pieces_are_joined_with_spaces_for_marks() {
    let model = model(UNIGRAM, &[("▁a", -1.0, NORMAL), ("b", -1.0, NORMAL)]);
    assert_eq!(model.join(&["▁a", "b", "▁a", "</s>", "▁zz"]), "ab a▁zz");
    assert_eq!(model.join(&["b", "<unk>"]), "b \u{2047} ");
}

#[test]
fn a_truncated_file_is_refused() {
    let file = file(&[("a", -1.0, NORMAL)], &[0x18, UNIGRAM]);
    for len in [0, file.len() / 2 - 1, file.len() - 1] {
        let error = SentencePiece::parse(&file[..len]).expect_err("the file is truncated");
        assert_eq!(error, SentencePieceError::Damaged, "{len}");
    }
}

#[test]
fn unsupported_features_are_named() {
    let words = SentencePiece::parse(&file(&[], &[0x18, 3])).expect_err("words are not supported");
    assert_eq!(
        words.to_string(),
        "it splits text into words, which is not supported; unigram and BPE models without that are"
    );
}

#[test]
fn a_duplicate_piece_is_refused() {
    let pieces = [("a", -1.0, NORMAL), ("a", -2.0, NORMAL)];
    let error = SentencePiece::parse(&file(&pieces, &[])).expect_err("the piece is ambiguous");
    assert!(
        error.to_string().starts_with("piece 4 is `a`, which"),
        "{error}"
    );
}

const SPECIAL: SpecialIds = SpecialIds {
    pad: 4,
    unk: 1,
    start: 4,
    eos: 0,
};

fn vocabulary(special: SpecialIds) -> Result<PieceVocabulary, SentencePieceError> {
    let pieces = [("▁a", -1.0, NORMAL), ("b", -1.0, NORMAL)];
    let tokens = ["</s>", "<unk>", "b", ">>x<<", "<pad>"].map(str::to_owned);
    PieceVocabulary::new(model(UNIGRAM, &pieces), tokens.to_vec(), special)
}

#[test]
fn special_tokens_come_first_and_padding_is_new_if_decoding_starts_from_it() {
    let vocabulary = vocabulary(SPECIAL).expect("the ids are distinct");
    let rows = [None, Some(1), Some(4), Some(0), Some(2), Some(3)];
    assert_eq!(vocabulary.rows(), rows);
}

#[test]
fn distinct_special_tokens_keep_their_rows() {
    let special = SpecialIds {
        start: 2,
        ..SPECIAL
    };
    let vocabulary = vocabulary(special).expect("the ids are distinct");
    assert_eq!(vocabulary.rows(), [4, 1, 2, 0, 3].map(Some));
}

#[test]
fn tags_and_user_defined_pieces_are_user_symbols() {
    let model = model(
        UNIGRAM,
        &[("<2de>", 0.0, USER_DEFINED), ("b", -1.0, NORMAL)],
    );
    let tokens = ["</s>", "<unk>", "<2de>", "b", "<pad>", ">>x<<", ">>x<<y"].map(str::to_owned);
    let vocabulary = PieceVocabulary::new(model, tokens.to_vec(), SPECIAL);
    let tokenizer = Tokenizer::from_pieces(vocabulary.expect("the ids are distinct"));
    let symbols = tokenizer.user_symbols().into_iter();
    let symbols: Vec<_> = symbols.filter_map(|id| tokenizer.token(id)).collect();
    assert_eq!(symbols, ["<2de>", ">>x<<"]);
}

#[test]
fn one_id_for_two_special_tokens_is_refused() {
    let special = SpecialIds { eos: 1, ..SPECIAL };
    let error = vocabulary(special).expect_err("1 is <unk>");
    assert!(
        error
            .to_string()
            .starts_with("the special token `eos` has the id 1")
    );
}

#[test]
fn a_tokenizer_is_restored_from_its_file() -> Result<(), Box<dyn std::error::Error>> {
    let tokenizer = Tokenizer::from_pieces(vocabulary(SPECIAL)?);
    let read = Tokenizer::from_json(&tokenizer.to_json())?;
    let line = ">>x<<ab </s>";
    // The vocabulary lacks the piece `▁a`, and `</s>` is text here.
    assert_eq!(tokenizer.encode(line), [5, UNK, 4, UNK]);
    assert_eq!(read.encode(line), tokenizer.encode(line));
    assert_eq!(read.decode(&[BOS, 5, 4, EOS, 99]), ">>x<<b");
    assert_eq!(read.vocab_size(), 6);
    assert_eq!(
        (read.id("<pad>"), read.token(4)),
        (Some(PAD), Some("b".to_owned()))
    );
    assert_eq!(read.to_json(), tokenizer.to_json());
    Ok(())
}

const LETTERS: [(&str, f32, u8); 8] = [
    ("▁", -3.0, NORMAL),
    ("a", -2.0, NORMAL),
    ("b", -2.5, NORMAL),
    ("c", -3.0, NORMAL),
    ("▁a", -1.5, NORMAL),
    ("ab", -2.2, NORMAL),
    ("bc", -4.0, NORMAL),
    ("▁ab", -4.5, NORMAL),
];

/// A vocabulary with the pieces of a model of this kind.
fn of_letters(kind: u8) -> Tokenizer {
    let tokens = ["</s>", "<unk>", "<pad>"].into_iter();
    let tokens = tokens.chain(LETTERS.iter().map(|(piece, ..)| *piece));
    let special = SpecialIds {
        pad: 2,
        start: 2,
        ..SPECIAL
    };
    let tokens = tokens.map(str::to_owned).collect();
    let vocabulary = PieceVocabulary::new(model(kind, &LETTERS), tokens, special);
    Tokenizer::from_pieces(vocabulary.expect("the pieces are distinct"))
}

#[test]
fn new_pieces_are_used_and_other_text_keeps_its_tokens() -> Result<(), Box<dyn std::error::Error>> {
    for kind in [UNIGRAM, BPE] {
        let tokenizer = of_letters(kind);
        let extended = tokenizer.extended(&["cab", "xy"], PiecePosition::WordStart)?;
        let [cab, xy] = extended.added.as_slice() else {
            panic!("two pieces were added: {:?}", extended.added);
        };
        assert_eq!([&cab.token, &xy.token], ["▁cab", "▁xy"]);
        assert_eq!(cab.parts, tokenizer.encode("cab"));
        // `xy` was unknown, except for the mark before it.
        assert_eq!(Some(xy.parts[0]), tokenizer.id("▁"));
        assert_eq!(xy.parts.len(), 1);
        let read = Tokenizer::from_json(&extended.tokenizer.to_json())?;
        let new = tokenizer.vocab_size() as u32;
        assert_eq!(read.encode("cab xy"), [new, new + 1]);
        assert_eq!(read.decode(&[new, new + 1]), "cab xy");
        for line in ["a ab abc", "bcab acab", "ca xc", "b a"] {
            assert_eq!(read.encode(line), tokenizer.encode(line), "{line}");
        }
    }
    Ok(())
}

#[test]
fn a_piece_within_words_of_a_model_is_found_there() -> Result<(), Box<dyn std::error::Error>> {
    for kind in [UNIGRAM, BPE] {
        let tokenizer = of_letters(kind);
        let extended = tokenizer.extended(&["cabc"], PiecePosition::InWord)?;
        let ids = extended.tokenizer.encode("acabc");
        assert_eq!(ids.last(), Some(&(tokenizer.vocab_size() as u32)));
    }
    Ok(())
}

#[test]
fn pieces_that_a_model_has_or_divides_are_refused() {
    let tokenizer = of_letters(UNIGRAM);
    let refusal = |piece| {
        let extended = tokenizer.extended(&[piece], PiecePosition::WordStart);
        extended.expect_err("it is refused").to_string()
    };
    let known = "`ab` is already in the vocabulary, as `▁ab`; leave it out";
    assert_eq!(refusal("ab"), known);
    assert!(refusal("a▁b").contains("into `a`, `b` before it looks for pieces"));
    assert!(refusal("▁").contains("drops all characters"));
}
