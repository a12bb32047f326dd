//! [`Tokenizer::to_sentencepiece`]: a tokenizer that was trained here, as a SentencePiece model.

use prost::Message;
use serde_json::Value;

use super::SentencePiece;
use super::proto::{ModelProto, Piece, PieceKind};
use crate::special::{N_SPECIAL, SPECIAL_TOKENS, byte_tokens};
use crate::{EOS, Tokenizer, UNK};

impl Tokenizer {
    /// Returns the SentencePiece model that splits text as this tokenizer does; `None` if there is none: only unigram
    /// models without lower-casing and user-defined symbols have one.
    ///
    /// Its pieces are `</s>`, `<unk>`, and the tokens after the special ones. SentencePiece does not normalize: text that
    /// is not in the normal form NFC, and whitespace other than spaces, is split otherwise.
    pub fn to_sentencepiece(&self) -> Option<SentencePiece> {
        let json: Value = serde_json::from_str(&self.to_json()).ok()?;
        let (model, steps) = (&json["model"], &json["normalizer"]["normalizers"]);
        let is_lowered = steps[0]["type"] == "Lowercase";
        // SentencePiece makes the space before a symbol a token, and our tokenizers do not.
        if model["type"] != "Unigram" || is_lowered || !self.user_symbols().is_empty() {
            return None;
        }
        let has_bytes = model["byte_fallback"] == true;
        let bytes: Vec<String> = byte_tokens().filter(|_| has_bytes).collect();
        let piece = |text: &str, score: f64, kind: PieceKind| Piece {
            text: text.to_owned(),
            score: score as f32,
            kind: kind.into(),
        };
        let special = |id: u32| SPECIAL_TOKENS[id as usize];
        let mut pieces = vec![
            piece(special(EOS), 0.0, PieceKind::Control),
            piece(special(UNK), 0.0, PieceKind::Unknown),
        ];
        for entry in model["vocab"].as_array()?.iter().skip(N_SPECIAL) {
            let text = entry[0].as_str()?;
            let kind = match bytes.iter().any(|byte| byte == text) {
                true => PieceKind::Byte,
                false => PieceKind::Normal,
            };
            pieces.push(piece(text, entry[1].as_f64()?, kind));
        }
        let proto = ModelProto::unigram(pieces, has_bytes);
        SentencePiece::parse(&proto.encode_to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Case, Tokenizer, TokenizerConfig, TokenizerKind};

    const LINES: [&str; 5] = [
        "The dog, asleep, is here; the other dogs are there.",
        "Der Hund schläft (hier)! Die anderen Hunde schlafen dort.",
        "1,024 dogs: \"good\" dogs of 1,025",
        "привет, мир",
        "日本語。カード",
    ];

    fn trained(config: &TokenizerConfig) -> Tokenizer {
        Tokenizer::train(config, LINES).expect("the text has words")
    }

    #[test]
    fn text_is_split_as_by_the_tokenizer() {
        for byte_fallback in [false, true] {
            let tokenizer = trained(&TokenizerConfig {
                kind: TokenizerKind::Unigram,
                vocab_size: 400,
                byte_fallback,
                ..TokenizerConfig::default()
            });
            let model = tokenizer.to_sentencepiece().expect("it is a unigram model");
            let pieces = model.pieces();
            assert_eq!(pieces.len() + 2, tokenizer.vocab_size());
            assert_eq!(pieces[..2], ["</s>", "<unk>"]);
            assert_eq!(model.has_byte_fallback(), byte_fallback);
            for line in LINES.iter().chain(&["dogs,here  there: hund", " (asleep "]) {
                let ids = tokenizer.encode(line);
                let ours = ids
                    .iter()
                    .map(|id| tokenizer.token(*id).unwrap_or_default());
                let theirs = model.split(line).into_iter().map(|it| it.piece);
                let theirs: Vec<String> = theirs.collect();
                assert_eq!(theirs, ours.collect::<Vec<_>>(), "{line}");
                assert_eq!(model.join(&theirs), tokenizer.decode(&ids));
            }
        }
    }

    #[test]
    fn other_tokenizers_have_no_model() {
        for (kind, case, symbol) in [
            (TokenizerKind::Bpe, Case::Keep, None),
            (TokenizerKind::Unigram, Case::Lower, None),
            (TokenizerKind::Unigram, Case::Keep, Some("<2de>".to_owned())),
        ] {
            let tokenizer = trained(&TokenizerConfig {
                kind,
                case,
                user_symbols: symbol.into_iter().collect(),
                vocab_size: 400,
                ..TokenizerConfig::default()
            });
            assert!(tokenizer.to_sentencepiece().is_none(), "{kind}");
        }
    }
}
