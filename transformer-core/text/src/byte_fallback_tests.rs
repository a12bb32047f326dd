//! Guarantees of tokenizers that write unknown characters as bytes.

use std::ops::Range;

use tokenizers::NormalizedString;

use super::special::UNK;
use super::{Tokenizer, TokenizerConfig, TokenizerError, TokenizerKind};
use crate::random::SplitMix64;

type Outcome = Result<(), TokenizerError>;

const LINES: [&str; 3] = ["Zwei weiße Männer.", "two white men", "Ein Mann (zwei)."];

const KINDS: [TokenizerKind; 2] = [TokenizerKind::Bpe, TokenizerKind::Unigram];

fn trained(kind: TokenizerKind) -> Result<Tokenizer, TokenizerError> {
    let config = TokenizerConfig {
        kind,
        vocab_size: 330,
        byte_fallback: true,
        ..TokenizerConfig::default()
    };
    Tokenizer::train(&config, LINES)
}

/// Draws a line of characters, from all of Unicode and from narrower ranges.
fn line(random: &mut SplitMix64) -> String {
    let n_chars = random.below(30);
    let mut line = String::new();
    while (line.chars().count() as u64) < n_chars {
        let code = match random.below(4) {
            0 => random.below(0x80),
            1 => random.below(0x3000),
            2 => random.below(0x1_0000),
            _ => random.below(0x11_0000),
        };
        line.extend(char::from_u32(code as u32));
    }
    line
}

/// Returns the normalized form of a line: NFC, and one space for each run of whitespace, NUL and marks.
fn normalized(line: &str) -> String {
    let mut text = NormalizedString::from(line);
    text.nfc();
    let is_space = |c: char| c.is_whitespace() || c == '\0' || c == '▁';
    let words: Vec<&str> = text
        .get()
        .split(is_space)
        .filter(|it| !it.is_empty())
        .collect();
    words.join(" ")
}

#[test]
fn every_line_of_unicode_comes_back() -> Outcome {
    for kind in KINDS {
        let tokenizer = trained(kind)?;
        let mut random = SplitMix64::new(17);
        for _ in 0..10_000 {
            let line = line(&mut random);
            let ids = tokenizer.encode(&line);
            assert!(!ids.contains(&UNK), "{kind}: {line:?}");
            assert_eq!(
                tokenizer.decode(&ids),
                normalized(&line),
                "{kind}: {line:?}"
            );
        }
    }
    Ok(())
}

#[test]
fn known_characters_are_not_written_as_bytes() -> Outcome {
    for kind in KINDS {
        let tokenizer = trained(kind)?;
        for line in LINES {
            let n_bytes = tokenizer
                .encode(line)
                .iter()
                .filter(|id| **id < 4 + 256)
                .count();
            assert_eq!(n_bytes, 0, "{kind}: {line}");
        }
    }
    Ok(())
}

#[test]
fn the_spelling_of_a_byte_stays_text() -> Outcome {
    for kind in KINDS {
        let tokenizer = trained(kind)?;
        let line = "<0xE2> <0x41><0x0A>";
        assert_eq!(tokenizer.decode(&tokenizer.encode(line)), line, "{kind}");
    }
    Ok(())
}

/// A model may write bytes that are no UTF-8.
#[test]
fn bytes_that_are_no_text_decode_to_replacement_characters() -> Outcome {
    for kind in KINDS {
        let tokenizer = trained(kind)?;
        let byte = |token| tokenizer.id(token).expect("every byte has a token");
        assert_eq!(
            tokenizer.decode(&[byte("<0xE2>"), byte("<0x41>")]),
            "\u{FFFD}\u{FFFD}",
            "{kind}"
        );
    }
    Ok(())
}

#[test]
fn spans_cover_whole_characters() -> Outcome {
    for kind in KINDS {
        let tokenizer = trained(kind)?;
        let mut random = SplitMix64::new(18);
        for _ in 0..500 {
            let source = line(&mut random);
            let (ids, source_spans) = tokenizer.encode_spans(&source);
            assert_eq!(ids, tokenizer.encode(&source), "{kind}");
            let (output, output_spans) = tokenizer.decode_spans(&ids);
            let cut = |text: &str, spans: &[Range<usize>]| {
                spans.iter().all(|span| text.get(span.clone()).is_some())
            };
            assert!(cut(&source, &source_spans), "{kind}: {source:?}");
            assert!(cut(&output, &output_spans), "{kind}: {output:?}");
            let end = output_spans.last().map_or(0, |span| span.end);
            assert_eq!(end, output.len(), "{kind}: {output:?}");
        }
    }
    Ok(())
}

#[test]
fn the_file_is_read_back_and_decodes_in_other_programs() -> Outcome {
    for kind in KINDS {
        let tokenizer = trained(kind)?;
        let file = tokenizer.to_json();
        assert_eq!(Tokenizer::from_json(&file)?.to_json(), file, "{kind}");
        let other: tokenizers::Tokenizer = file.parse().map_err(TokenizerError::Parse)?;
        let encoding = other
            .encode("zwei 漢字", true)
            .map_err(TokenizerError::Encode)?;
        let decoded = other
            .decode(encoding.get_ids(), true)
            .map_err(TokenizerError::Encode)?;
        assert_eq!(decoded, "zwei 漢字", "{kind}");
    }
    Ok(())
}

#[test]
fn the_smallest_vocabulary_has_room_for_the_bytes() {
    for kind in KINDS {
        let config = TokenizerConfig {
            kind,
            vocab_size: 200,
            byte_fallback: true,
            ..TokenizerConfig::default()
        };
        let error = Tokenizer::train(&config, LINES).expect_err("there are 256 bytes");
        assert!(
            matches!(
                error,
                TokenizerError::VocabTooSmall {
                    smallest: 261..,
                    ..
                }
            ),
            "{error}"
        );
    }
}
