//! Guarantees of every kind of tokenizer.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::lines_for_tests::KINDS;
use super::special::{BOS, EOS, PAD, SPECIAL_TOKENS, UNK};
use super::{Case, Tokenizer, TokenizerConfig, TokenizerError, TokenizerKind};

type Outcome = Result<(), TokenizerError>;

const LINES: [&str; 6] = [
    "Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche.",
    "Two young, White males are outside near many bushes.",
    "Ein kleines Mädchen klettert in ein Spielhaus aus Holz.",
    "A little girl is climbing into a wooden playhouse.",
    "Two men stand outside, near a little house.",
    "Ein Mann steht im Freien; \"x < y > z / q\".",
];

fn config(kind: TokenizerKind) -> TokenizerConfig {
    TokenizerConfig {
        kind,
        vocab_size: 120,
        ..TokenizerConfig::default()
    }
}

fn trained(kind: TokenizerKind) -> Result<Tokenizer, TokenizerError> {
    Tokenizer::train(&config(kind), LINES)
}

#[test]
fn special_tokens_have_their_ids_in_every_kind() -> Outcome {
    for kind in KINDS {
        let tokenizer = trained(kind)?;
        let ids = SPECIAL_TOKENS.map(|token| tokenizer.id(token));
        assert_eq!(ids, [PAD, UNK, BOS, EOS].map(Some), "{kind}");
    }
    Ok(())
}

#[test]
fn spelled_out_special_tokens_stay_text() -> Outcome {
    let line = "a <s> b</s> <pad><unk> </S> x<s>";
    for kind in KINDS {
        for case in [Case::Keep, Case::Lower] {
            // Not even a corpus full of them may teach them.
            let config = TokenizerConfig {
                case,
                ..config(kind)
            };
            let lines = LINES.into_iter().chain([line; 9]);
            let tokenizer = Tokenizer::train(&config, lines)?;
            let ids = tokenizer.encode(line);
            assert!(ids.iter().all(|&id| id > EOS), "{kind}: {ids:?}");
        }
    }
    Ok(())
}

/// Other programs read the file without the filter in [`Tokenizer::encode`].
#[test]
fn the_file_itself_keeps_special_tokens_out_of_text() -> Outcome {
    let line = "a <s> b</s> <pad><unk> x<s>";
    for kind in KINDS {
        let lines = LINES.into_iter().chain([line; 9]);
        let file = Tokenizer::train(&config(kind), lines)?.to_json();
        let other: tokenizers::Tokenizer = file.parse().map_err(TokenizerError::Parse)?;
        let encoding = other.encode(line, true).map_err(TokenizerError::Encode)?;
        let ids = encoding.get_ids();
        assert!(ids.iter().all(|&id| id > EOS), "{kind}: {ids:?}");
    }
    Ok(())
}

#[test]
fn subwords_reproduce_the_spelling_of_a_special_token() -> Outcome {
    for kind in KINDS.into_iter().filter(|it| *it != TokenizerKind::Word) {
        let tokenizer = Tokenizer::train(&config(kind), LINES.into_iter().chain(["</pad>unk<s>"]))?;
        let line = "<s> </s> <pad> <unk><s>";
        assert_eq!(tokenizer.decode(&tokenizer.encode(line)), line, "{kind}");
    }
    Ok(())
}

#[test]
fn the_same_lines_give_the_same_file() -> Outcome {
    for kind in KINDS {
        let first = trained(kind)?.to_json();
        for _ in 0..5 {
            assert_eq!(trained(kind)?.to_json(), first, "{kind}");
        }
    }
    Ok(())
}

#[test]
fn reading_and_writing_keep_the_file() -> Outcome {
    for kind in KINDS {
        let file = trained(kind)?.to_json();
        assert_eq!(Tokenizer::from_json(&file)?.to_json(), file, "{kind}");
    }
    Ok(())
}

#[test]
fn unknown_text_is_unk_and_decodes_to_nothing() -> Outcome {
    for kind in KINDS {
        let tokenizer = trained(kind)?;
        let ids = tokenizer.encode("Ω");
        assert!(ids.contains(&UNK), "{kind}: {ids:?}");
        assert_eq!(tokenizer.decode(&ids).trim(), "", "{kind}");
    }
    Ok(())
}

#[test]
fn blank_lines_have_no_tokens() -> Outcome {
    for kind in KINDS.into_iter().filter(|it| *it != TokenizerKind::Char) {
        let tokenizer = trained(kind)?;
        for line in ["", "  ", "\t\u{3000} \u{a0}\r"] {
            assert!(tokenizer.encode(line).is_empty(), "{kind} {line:?}");
        }
        assert_eq!(tokenizer.decode(&[]), "", "{kind}");
    }
    Ok(())
}

#[test]
fn words_are_split_at_whitespace_and_joined_by_spaces() -> Outcome {
    let config = TokenizerConfig {
        vocab_size: 7,
        ..config(TokenizerKind::Word)
    };
    let tokenizer = Tokenizer::train(&config, ["b c  a", "c\tb c", "d a"])?;
    // `c` occurs 3 times, `a` and `b` twice, `d` once: there is no room for `d`, and `a` sorts before `b`.
    assert_eq!(tokenizer.encode("a b\u{a0}c d"), [5, 6, 4, UNK]);
    assert_eq!(tokenizer.decode(&[BOS, 5, 6, UNK, 4, EOS, PAD]), "a b c");
    Ok(())
}

#[test]
fn characters_keep_every_space() -> Outcome {
    let tokenizer = trained(TokenizerKind::Char)?;
    let line = "  A  girl, in a house ";
    assert_eq!(tokenizer.encode(line).len(), line.chars().count());
    assert_eq!(tokenizer.decode(&tokenizer.encode(line)), line);
    Ok(())
}

#[test]
fn two_unicode_encodings_of_a_character_give_the_same_ids() -> Outcome {
    for kind in KINDS {
        let tokenizer = trained(kind)?;
        assert_eq!(
            tokenizer.encode("Ma\u{308}nner"),
            tokenizer.encode("Männer"),
            "{kind}"
        );
        assert!(!tokenizer.encode("Männer").contains(&UNK), "{kind}");
    }
    Ok(())
}

#[test]
fn lower_casing_applies_before_encoding() -> Outcome {
    for kind in KINDS {
        let config = TokenizerConfig {
            case: Case::Lower,
            ..config(kind)
        };
        let tokenizer = Tokenizer::train(&config, LINES)?;
        assert_eq!(
            tokenizer.decode(&tokenizer.encode("TWO MÄNNER")),
            "two männer",
            "{kind}"
        );
    }
    Ok(())
}

#[test]
fn frequent_words_become_one_token() -> Outcome {
    for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram] {
        let tokenizer = Tokenizer::train(&config(kind), LINES.into_iter().chain(["house"; 40]))?;
        assert_eq!(tokenizer.encode("house").len(), 1, "{kind}");
        assert_eq!(
            tokenizer.token(tokenizer.encode("house")[0]).as_deref(),
            Some("▁house")
        );
    }
    Ok(())
}

#[test]
fn punctuation_is_never_in_a_token_with_letters() -> Outcome {
    for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram] {
        let tokenizer = Tokenizer::train(&config(kind), ["an (house)."; 20])?;
        let tokens = tokenizer
            .encode("(house)")
            .into_iter()
            .map(|id| tokenizer.token(id));
        let tokens: Vec<String> = tokens.flatten().collect();
        assert_eq!(tokens, ["▁(", "house", ")"], "{kind}");
    }
    Ok(())
}

#[test]
fn encode_all_equals_encode_of_each_line() -> Outcome {
    for kind in KINDS {
        let tokenizer = trained(kind)?;
        let one_by_one: Vec<_> = LINES.iter().map(|line| tokenizer.encode(line)).collect();
        assert_eq!(tokenizer.encode_all(&LINES), one_by_one, "{kind}");
    }
    Ok(())
}

#[test]
fn the_vocabulary_never_exceeds_its_size() -> Outcome {
    for kind in KINDS {
        for vocab_size in [60, 61, 62, 80, 100_000] {
            let config = TokenizerConfig {
                vocab_size,
                ..config(kind)
            };
            let tokenizer = Tokenizer::train(&config, LINES)?;
            assert!(
                tokenizer.vocab_size() <= vocab_size,
                "{kind} {}",
                tokenizer.vocab_size()
            );
        }
    }
    Ok(())
}

#[test]
fn the_smallest_size_in_the_error_is_sufficient() -> Outcome {
    for kind in KINDS {
        let too_small = TokenizerConfig {
            vocab_size: 4,
            ..config(kind)
        };
        let error = Tokenizer::train(&too_small, LINES).expect_err("four tokens are special");
        let TokenizerError::VocabTooSmall { smallest, .. } = error else {
            panic!("{kind}: {error}");
        };
        assert!(error.to_string().contains(&smallest.to_string()));
        let config = TokenizerConfig {
            vocab_size: smallest,
            ..config(kind)
        };
        assert_eq!(
            Tokenizer::train(&config, LINES)?.vocab_size(),
            smallest,
            "{kind}"
        );
        let config = TokenizerConfig {
            vocab_size: smallest - 1,
            ..config
        };
        assert!(Tokenizer::train(&config, LINES).is_err(), "{kind}");
    }
    Ok(())
}

#[test]
fn training_on_blank_text_is_an_error() {
    for kind in KINDS.into_iter().filter(|it| *it != TokenizerKind::Char) {
        let outcome = Tokenizer::train(&config(kind), ["", " \t "]);
        assert!(
            matches!(outcome, Err(TokenizerError::EmptyCorpus)),
            "{kind}"
        );
    }
    let outcome = Tokenizer::train(&config(TokenizerKind::Char), [""; 2]);
    assert!(matches!(outcome, Err(TokenizerError::EmptyCorpus)));
}

/// Returns a word-level `tokenizer.json` with this vocabulary.
fn file(vocab: &Value) -> String {
    let model = json!({"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"});
    super::json_layout::tokenizer_json(&config(TokenizerKind::Word), &model).to_string()
}

#[test]
fn other_special_ids_are_refused() {
    let vocab = json!({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3});
    let error = Tokenizer::from_json(&file(&vocab)).expect_err("the ids are fairseq's");
    assert_eq!(
        error.to_string(),
        "the token `<pad>` must have the id 0, but has 1; train the tokenizer with this program"
    );
}

#[test]
fn missing_special_tokens_are_refused() {
    let error = Tokenizer::from_json(&file(&json!({"<pad>": 0}))).expect_err("no `<unk>`");
    assert!(
        error
            .to_string()
            .contains("`<unk>` must have the id 1, but is missing")
    );
}

#[test]
fn gaps_in_the_ids_are_refused() {
    let vocab = json!({"<pad>": 0, "<unk>": 1, "<s>": 2, "</s>": 3, "a": 7});
    let error = Tokenizer::from_json(&file(&vocab)).expect_err("4 is missing");
    assert!(
        matches!(
            error,
            TokenizerError::MissingId {
                id: 4,
                vocab_size: 5
            }
        ),
        "{error}"
    );
}

#[test]
fn added_tokens_of_a_file_do_not_match_in_text() -> Outcome {
    let vocab = json!({"<pad>": 0, "<unk>": 1, "<s>": 2, "</s>": 3, "a": 4});
    let mut foreign: Value = serde_json::from_str(&file(&vocab)).expect("it is JSON");
    foreign["added_tokens"] = json!([{
        "id": 3, "content": "</s>", "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": true,
    }]);
    foreign["pre_tokenizer"] = json!({"type": "WhitespaceSplit"});
    let tokenizer = Tokenizer::from_json(&foreign.to_string())?;
    assert_eq!(tokenizer.encode("a </s> <s> a"), [4, UNK, UNK, 4]);
    Ok(())
}

/// A name alone makes no BART.
#[test]
fn only_byte_level_tokenizers_with_the_token_of_bart_have_a_sentence_start() -> Outcome {
    let byte_level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true});
    let whitespace = json!({"type": "WhitespaceSplit"});
    for (id, split, expected) in [
        (4, &byte_level, Some(4)),
        (5, &byte_level, None),
        (4, &whitespace, None),
    ] {
        let vocab = json!({"<pad>": 0, "<unk>": 1, "<s>": 2, "</s>": 3, "a": 9 - id, "<bos>": id});
        let mut foreign: Value = serde_json::from_str(&file(&vocab)).expect("it is JSON");
        foreign["added_tokens"] = json!([{
            "id": id, "content": "<bos>", "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true,
        }]);
        foreign["pre_tokenizer"] = split.clone();
        let tokenizer = Tokenizer::from_json(&foreign.to_string())?;
        assert_eq!(tokenizer.sentence_start(), expected);
    }
    Ok(())
}

/// The crate `tokenizers` panics at it.
#[test]
fn a_merge_that_is_longer_than_every_token_is_refused() -> Outcome {
    let vocab = json!({"<pad>": 0, "<unk>": 1, "<s>": 2, "</s>": 3, "aaaa": 4, "aa": 5});
    let mut bpe: Value = serde_json::from_str(&file(&vocab)).expect("it is JSON");
    bpe["model"] =
        json!({"type": "BPE", "unk_token": "<unk>", "vocab": vocab, "merges": [["aa", "aa"]]});
    assert!(Tokenizer::from_json(&bpe.to_string()).is_ok());
    for merges in [json!([["aaaa", "aaaa"]]), json!(["aaaa aaaa"])] {
        bpe["model"]["merges"] = merges;
        let message = Tokenizer::from_json(&bpe.to_string()).map_err(|error| error.to_string());
        let expected =
            "the merge of `aaaa` and `aaaa` makes no token of the vocabulary; restore the file";
        assert_eq!(message.err().as_deref(), Some(expected));
    }
    Ok(())
}

#[test]
fn the_error_names_a_file_that_is_not_a_tokenizer() {
    let error = Tokenizer::read(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    let error = error.expect_err("a manifest is not a tokenizer");
    assert!(error.to_string().contains("Cargo.toml"), "{error}");
}

/// Returns what BPE and unigram restore: the characters of the corpus are in normal form.
fn collapsed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

proptest! {
    #[test]
    fn subwords_are_reversible(
        line in "[A-Za-eä-öß<>/, ;\"\\.x-z\t\u{a0}]{0,40}",
        kind in prop_oneof![Just(TokenizerKind::Bpe), Just(TokenizerKind::Unigram)],
    ) {
        let alphabet = ('A'..='Z').chain('a'..='z').chain('ä'..='ö');
        let alphabet: String = alphabet.chain("ß<>/,;\".".chars()).collect();
        let lines = LINES.into_iter().chain([alphabet.as_str()]);
        let config = TokenizerConfig { vocab_size: 200, ..config(kind) };
        let tokenizer = Tokenizer::train(&config, lines)?;
        prop_assert_eq!(tokenizer.decode(&tokenizer.encode(&line)), collapsed(&line));
    }

    #[test]
    fn any_text_can_be_encoded(line in any::<String>(), kind in prop::sample::select(&KINDS[..])) {
        let tokenizer = trained(kind)?;
        let ids = tokenizer.encode(&line);
        prop_assert!(ids.iter().all(|&id| id == UNK || id > EOS));
        tokenizer.decode(&ids);
    }

    #[test]
    fn any_text_can_be_trained_on(
        lines in prop::collection::vec(any::<String>(), 1..6),
        kind in prop::sample::select(&KINDS[..]),
    ) {
        let config = TokenizerConfig { vocab_size: 1000, ..config(kind) };
        match Tokenizer::train(&config, &lines) {
            Ok(tokenizer) => prop_assert!(tokenizer.vocab_size() <= 1000),
            Err(error) => prop_assert!(matches!(error, TokenizerError::EmptyCorpus), "{error}"),
        }
    }
}
