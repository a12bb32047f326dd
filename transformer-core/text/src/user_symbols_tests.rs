//! Guarantees of user-defined symbols in every kind of tokenizer.

use serde::Deserialize;

use super::lines_for_tests::{KINDS, mixed_script_lines};
use super::{Case, Tokenizer, TokenizerConfig, TokenizerError, TokenizerKind, UNK};

type Outcome = Result<(), TokenizerError>;

const SYMBOLS: [&str; 4] = ["<2de>", ">>fra<<", "<2de>x", "ß"];

const LINES: [&str; 4] = [
    "<2de> two white men are outside",
    ">>fra<< two men <2de>x, outside (a house)",
    "deux hommes 2de fra a x < > de",
    "Zwei weiße Männer.",
];

fn config(kind: TokenizerKind) -> TokenizerConfig {
    TokenizerConfig {
        kind,
        vocab_size: 120,
        user_symbols: SYMBOLS.map(str::to_owned).to_vec(),
        ..TokenizerConfig::default()
    }
}

fn trained(kind: TokenizerKind) -> Result<Tokenizer, TokenizerError> {
    Tokenizer::train(&config(kind), LINES)
}

/// Returns the symbols among the tokens of a line.
fn symbols_in(tokenizer: &Tokenizer, line: &str) -> Vec<String> {
    let ids = tokenizer.encode(line).into_iter();
    let symbols = ids.filter(|id| tokenizer.user_symbols().contains(id));
    symbols.filter_map(|id| tokenizer.token(id)).collect()
}

#[test]
fn symbols_are_one_token_alone_in_a_word_and_beside_each_other() -> Outcome {
    for kind in KINDS {
        let tokenizer = trained(kind)?;
        assert_eq!(tokenizer.user_symbols(), [4, 5, 6, 7], "{kind}");
        for symbol in SYMBOLS {
            assert_eq!(tokenizer.encode(symbol).len(), 1, "{kind} {symbol}");
            for line in [
                format!("a{symbol}a"),
                format!("a {symbol} a"),
                format!("  {symbol}\ta"),
            ] {
                assert_eq!(symbols_in(&tokenizer, &line), [symbol], "{kind} {line}");
            }
        }
        let line = "<2de>>>fra<<<2de> <2de>xß";
        let expected = ["<2de>", ">>fra<<", "<2de>", "<2de>x", "ß"];
        assert_eq!(symbols_in(&tokenizer, line), expected, "{kind}");
    }
    Ok(())
}

#[test]
fn a_symbol_in_another_spelling_is_ordinary_text() -> Outcome {
    for kind in KINDS {
        let lower = TokenizerConfig {
            case: Case::Lower,
            ..config(kind)
        };
        let tokenizer = Tokenizer::train(&lower, LINES)?;
        assert!(symbols_in(&tokenizer, "<2 de> <2D").is_empty(), "{kind}");
        assert_eq!(symbols_in(&tokenizer, "A <2de> A"), ["<2de>"], "{kind}");
    }
    Ok(())
}

#[test]
fn lower_case_makes_no_symbol_with_punctuation_and_letters_but_of_whole_words() -> Outcome {
    for kind in KINDS {
        let lower = TokenizerConfig {
            case: Case::Lower,
            user_symbols: vec!["<2de>".to_owned()],
            ..config(kind)
        };
        let tokenizer = Tokenizer::train(&lower, ["<2DE> <2DE> <2DE>a", "<2DE> de"])?;
        let found = symbols_in(&tokenizer, "<2DE> de");
        assert_eq!(found.is_empty(), kind != TokenizerKind::Word, "{kind}");
    }
    Ok(())
}

#[test]
fn nothing_is_learned_from_symbols() -> Outcome {
    let with = LINES.map(|line| line.replace(' ', " <2de> "));
    for kind in KINDS.into_iter().filter(|it| *it != TokenizerKind::Char) {
        let file = Tokenizer::train(&config(kind), &with)?.to_json();
        assert_eq!(file, trained(kind)?.to_json(), "{kind}");
    }
    Ok(())
}

#[test]
fn text_around_a_symbol_has_the_tokens_of_the_text_alone() -> Outcome {
    for kind in KINDS.into_iter().filter(|it| *it != TokenizerKind::Char) {
        let tokenizer = trained(kind)?;
        let ids = |line| tokenizer.encode(line);
        let expected = [ids("two men"), ids("<2de>"), ids("outside")].concat();
        for line in ["two men <2de> outside", "two men<2de>outside"] {
            assert_eq!(ids(line), expected, "{kind} {line}");
        }
    }
    Ok(())
}

#[test]
fn symbols_come_back_with_spaces_around_them() -> Outcome {
    for kind in KINDS {
        let tokenizer = trained(kind)?;
        for line in ["<2de> two men", "two >>fra<< men <2de>x", "<2de> <2de>"] {
            assert_eq!(tokenizer.decode(&tokenizer.encode(line)), line, "{kind}");
        }
    }
    Ok(())
}

#[test]
fn the_file_is_read_back_and_other_programs_use_the_symbols() -> Outcome {
    for kind in KINDS {
        for byte_fallback in [false, true] {
            let config = TokenizerConfig {
                byte_fallback,
                vocab_size: 400,
                ..config(kind)
            };
            let tokenizer = Tokenizer::train(&config, LINES)?;
            let file = tokenizer.to_json();
            assert_eq!(Tokenizer::from_json(&file)?.to_json(), file, "{kind}");
            let other: tokenizers::Tokenizer = file.parse().map_err(TokenizerError::Parse)?;
            let line = "two <2de> men>>fra<< <2de>x";
            let encoding = other.encode(line, true).map_err(TokenizerError::Encode)?;
            assert_eq!(encoding.get_ids(), tokenizer.encode(line), "{kind}");
            let decoded = other.decode(encoding.get_ids(), true);
            let decoded = decoded.map_err(TokenizerError::Encode)?;
            assert_eq!(decoded, tokenizer.decode(encoding.get_ids()), "{kind}");
        }
    }
    Ok(())
}

#[test]
fn the_span_of_a_symbol_is_its_spelling() -> Outcome {
    for kind in KINDS {
        let tokenizer = trained(kind)?;
        let line = "two <2de> men";
        let (ids, spans) = tokenizer.encode_spans(line);
        assert_eq!(ids, tokenizer.encode(line), "{kind}");
        let position = ids.iter().position(|id| *id == 4);
        assert_eq!(position.map(|it| spans[it].clone()), Some(4..9), "{kind}");
        let (output, spans) = tokenizer.decode_spans(&ids);
        let span = position.map(|it| output[spans[it].clone()].trim().to_owned());
        assert_eq!(span.as_deref(), Some("<2de>"), "{kind}");
    }
    Ok(())
}

#[test]
fn the_smallest_size_in_the_error_has_room_for_the_symbols() -> Outcome {
    for kind in KINDS {
        let sized = |vocab_size| TokenizerConfig {
            vocab_size,
            ..config(kind)
        };
        let error = Tokenizer::train(&sized(8), LINES).expect_err("the symbols fill it");
        let TokenizerError::VocabTooSmall { smallest, .. } = error else {
            panic!("{kind}: {error}");
        };
        assert!(Tokenizer::train(&sized(smallest), LINES)?.vocab_size() <= smallest);
        assert!(Tokenizer::train(&sized(smallest - 1), LINES).is_err());
    }
    Ok(())
}

#[test]
fn lines_in_many_scripts_have_the_tokens_of_another_program() -> Outcome {
    let lines = mixed_script_lines(400);
    let insert = |(line, symbol): (&String, &str)| {
        let spaces: Vec<usize> = line.match_indices(' ').map(|(at, _)| at).collect();
        let middle = spaces.get(spaces.len() / 2).map_or(0, |at| at + 1);
        format!("{symbol}{}{symbol} {}", &line[..middle], &line[middle..])
    };
    let lines = lines.iter().zip(SYMBOLS.into_iter().cycle()).map(insert);
    let lines: Vec<String> = lines.collect();
    for kind in KINDS {
        let large = TokenizerConfig {
            vocab_size: 900,
            ..config(kind)
        };
        let tokenizer = Tokenizer::train(&large, &lines)?;
        let other: tokenizers::Tokenizer =
            tokenizer.to_json().parse().map_err(TokenizerError::Parse)?;
        for line in &lines {
            let encoding = other.encode(line.as_str(), false);
            let encoding = encoding.map_err(TokenizerError::Encode)?;
            assert_eq!(tokenizer.encode(line), encoding.get_ids(), "{kind} {line}");
            let start = tokenizer.start_of_line(line, 5);
            let n_tokens = tokenizer.encode(line).len().min(5);
            assert_eq!(
                tokenizer.encode(start)[..n_tokens],
                encoding.get_ids()[..n_tokens]
            );
        }
    }
    Ok(())
}

/// Lines, and the symbols that SentencePiece finds in them.
#[derive(Deserialize)]
struct Expected {
    symbols: Vec<String>,
    train: Vec<String>,
    lines: Vec<(String, Vec<String>)>,
}

#[test]
fn symbols_are_found_where_sentencepiece_finds_them() -> Outcome {
    let file = include_str!("../../tests/fixtures/user_symbols.json");
    let expected: Expected = serde_json::from_str(file).expect("the fixture is JSON");
    for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram] {
        let config = TokenizerConfig {
            user_symbols: expected.symbols.clone(),
            ..config(kind)
        };
        let tokenizer = Tokenizer::train(&config, &expected.train)?;
        for (line, symbols) in &expected.lines {
            assert_eq!(symbols_in(&tokenizer, line), *symbols, "{kind} {line:?}");
            assert!(!tokenizer.encode(line).contains(&UNK), "{kind} {line:?}");
        }
    }
    Ok(())
}
