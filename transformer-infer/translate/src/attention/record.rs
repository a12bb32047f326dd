//! Recording attention: one forward pass over a source and its translation.

use std::ops::Range;

use burn::tensor::{Int, Tensor, TensorData};
use transformer_core::packed::{PackedTransformer, Workspace};
use transformer_core::text::{BOS, Direction, EOS, Tokenizer};
use transformer_core::{AttentionMaps, AttentionMasks, LoadError, Padded};
use transformer_search::Hypothesis;

use super::{Attention, Map, Token};
use crate::TranslatorError;
use crate::scorer::{assert_in_vocabulary, without_autodiff};
use crate::translator::{ARE_PACKED, Translator};

impl Translator {
    /// Returns the attention weights of the model when it generated `hypothesis` for `line`.
    ///
    /// The hypothesis may come from any search over the same line. The model reads it once more, all tokens at once,
    /// which gives the weights of token-by-token decoding except for rounding. The first model of an ensemble is used.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] if the line is blank, if a side is too long, or if the model computes NaN.
    ///
    /// # Panics
    ///
    /// Panics if a token of the hypothesis is not in the target vocabulary.
    ///
    /// # Example
    ///
    /// ```no_run
    /// use transformer_core::device;
    /// use transformer_translate::Translator;
    /// use transformer_translate::attention::LayerHead;
    ///
    /// let (_, device) = device::choose(None)?;
    /// let translator = Translator::open("runs/numbers", &device)?;
    /// let line = "one million and seven";
    /// let translations = translator.translate(&[line])?;
    /// let attention = translator.attention(line, &translations[0].candidates[0].hypothesis)?;
    /// println!("{}", attention.alignment(LayerHead::default())?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn attention(
        &self,
        line: &str,
        hypothesis: &Hypothesis,
    ) -> Result<Attention, TranslatorError> {
        self.attention_in(self.direction_of(None)?, line, hypothesis)
    }

    /// Like [`attention`](Self::attention), with the [direction](crate::Translation::direction) of the translation.
    ///
    /// # Errors
    ///
    /// See `attention`.
    pub fn attention_in(
        &self,
        direction: Direction,
        line: &str,
        hypothesis: &Hypothesis,
    ) -> Result<Attention, TranslatorError> {
        let mut tgt_ids = hypothesis.ids.clone();
        if hypothesis.finished || tgt_ids.is_empty() {
            tgt_ids.push(EOS);
        }
        self.record(direction, line, &tgt_ids)
    }

    /// Returns the attention weights of the model with `tgt_line` as the translation of `line` (teacher forcing).
    /// Without a limit for targets, the limit for sources applies to both sides.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] if the line is blank, if a side is too long, or if the model computes NaN.
    pub fn forced_attention(
        &self,
        line: &str,
        tgt_line: &str,
    ) -> Result<Attention, TranslatorError> {
        self.forced_attention_in(None, line, tgt_line)
    }

    /// Like [`forced_attention`](Self::forced_attention), between other languages of a multilingual model.
    ///
    /// # Errors
    ///
    /// See `forced_attention`.
    pub fn forced_attention_in(
        &self,
        direction: Option<Direction>,
        line: &str,
        tgt_line: &str,
    ) -> Result<Attention, TranslatorError> {
        let mut tgt_ids = self.tokenizers.tgt().encode(tgt_line);
        if tgt_line.trim().is_empty() {
            tgt_ids.clear(); // a tokenizer may have tokens for spaces
        }
        let direction = self.direction_of(direction)?;
        tgt_ids.splice(0..0, direction.first());
        tgt_ids.push(EOS);
        // The weights of a decoder layer take memory in proportion to the square of the length.
        let limit = self.limits.max_tgt_len;
        let limit = limit.unwrap_or(self.limits.max_src_len + 1);
        let n_tokens = tgt_ids.len();
        if n_tokens > limit {
            return Err(TranslatorError::LongTarget { n_tokens, limit });
        }
        self.record(direction, line, &tgt_ids)
    }

    fn record(
        &self,
        direction: Direction,
        line: &str,
        tgt_ids: &[u32],
    ) -> Result<Attention, TranslatorError> {
        let (mut src_ids, mut src_spans) = self.tokenizers.src().encode_spans(line);
        if src_ids.is_empty() || line.trim().is_empty() {
            return Err(TranslatorError::BlankSource);
        }
        direction.mark(&mut src_ids, usize::MAX);
        direction.insert(&mut src_spans, usize::MAX, |_| 0..0);
        let (n_tokens, limit) = (src_ids.len(), self.limits.max_src_len);
        if n_tokens > limit {
            return Err(TranslatorError::LongSource { n_tokens, limit });
        }
        let n_tokens = tgt_ids.len();
        if let Some(limit) = self.limits.max_tgt_len.filter(|limit| n_tokens > *limit) {
            return Err(TranslatorError::LongTarget { n_tokens, limit });
        }
        self.config().end_source(&mut src_ids);
        src_spans.resize(src_ids.len(), line.len()..line.len());
        let (tgt, tgt_spans) = self.tokenizers.tgt().decode_spans(tgt_ids);
        let [encoder, decoder, cross] = match ARE_PACKED {
            true => {
                let packed = self.packed();
                let packed = packed.expect("models are packed when they are opened");
                let cross = cross_maps(packed, &src_ids, tgt_ids);
                [Vec::new(), Vec::new(), cross]
            }
            false => self.maps(&src_ids, tgt_ids)?,
        };
        let attention = Attention {
            src_tokens: tokens(&src_ids, &src_spans, line, self.tokenizers.src()),
            tgt_tokens: tokens(tgt_ids, &tgt_spans, &tgt, self.tokenizers.tgt()),
            src: line.to_owned(),
            tgt,
            encoder,
            decoder,
            cross,
        };
        let all = [&attention.encoder, &attention.decoder, &attention.cross];
        let weights = || all.iter().copied().flatten().flatten().flatten().flatten();
        if weights().any(|weight| !weight.is_finite()) {
            return Err(TranslatorError::AttentionNotANumber);
        }
        Ok(attention)
    }

    fn maps(&self, src_ids: &[u32], tgt_ids: &[u32]) -> Result<[Vec<Vec<Map>>; 3], LoadError> {
        let model = without_autodiff(self.model()?);
        let weight = model.output_weight();
        assert_in_vocabulary("target", tgt_ids, weight.dims()[0]);
        let device = weight.device();
        let read: Vec<i64> = input(tgt_ids).map(i64::from).collect();
        let tgt = Tensor::<2, Int>::from_data(TensorData::new(read, [1, tgt_ids.len()]), &device);
        let mut maps = AttentionMaps::default();
        let src = Padded::new(&[src_ids], &device);
        let masks = AttentionMasks::default();
        let memory = model.encode_with(&src, &masks, Some(&mut maps));
        let mut state = model.begin(&memory);
        let _ = model.decode_with(tgt, &mut state, &masks, Some(&mut maps));
        let read = |layers: Vec<Tensor<4>>| layers.into_iter().map(read_layer).collect();
        Ok([maps.encoder, maps.decoder, maps.cross].map(read))
    }
}

/// Returns the maps of cross-attention of a packed model, which has no others.
fn cross_maps(packed: &PackedTransformer, src_ids: &[u32], tgt_ids: &[u32]) -> Vec<Vec<Map>> {
    let read: Vec<u32> = input(tgt_ids).collect();
    let mut workspace = Workspace::new();
    let mut map = |layer: usize, head: usize| -> Map {
        let target = [(0, &read[..])];
        let maps =
            packed.cross_attention(&[src_ids], &target, layer, head..head + 1, &mut workspace);
        let rows = maps[0].chunks(src_ids.len());
        rows.map(<[f32]>::to_vec).collect()
    };
    let config = packed.config();
    let mut maps = |layer| (0..config.n_heads).map(|head| map(layer, head)).collect();
    (0..config.n_decoder_layers).map(&mut maps).collect()
}

/// Returns the decoder's input for these outputs.
fn input(tgt_ids: &[u32]) -> impl Iterator<Item = u32> {
    let read = [BOS].into_iter().chain(tgt_ids.iter().copied());
    read.take(tgt_ids.len())
}

/// Reads the weights of one layer, `[1, n_heads, rows, columns]`, from the device as `[n_heads][rows][columns]`.
fn read_layer(weights: Tensor<4>) -> Vec<Map> {
    let [_, _, n_rows, n_columns] = weights.dims();
    let weights: Vec<f32> = weights.into_data().iter::<f32>().collect();
    let map = |head: &[f32]| head.chunks(n_columns).map(<[f32]>::to_vec).collect();
    weights.chunks(n_rows * n_columns).map(map).collect()
}

fn tokens(ids: &[u32], spans: &[Range<usize>], text: &str, spelling: &Tokenizer) -> Vec<Token> {
    let token = |(id, word): (&u32, Option<usize>)| Token {
        text: spelling.token(*id).unwrap_or_default(),
        id: *id,
        word,
    };
    ids.iter().zip(words_of(spans, text)).map(token).collect()
}

/// Returns the index of each token's word in the text, given the tokens' byte ranges.
pub fn words_of(spans: &[Range<usize>], text: &str) -> Vec<Option<usize>> {
    let words = words(text);
    let word_of = |span: &Range<usize>| {
        let shared = |word: &Range<usize>| word.start < span.end && span.start < word.end;
        words.iter().position(shared)
    };
    spans.iter().map(word_of).collect()
}

/// Returns the byte ranges of the words of a text, separated by whitespace.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = None;
    for (position, character) in text.char_indices().chain([(text.len(), ' ')]) {
        if character.is_whitespace() {
            words.extend(start.take().map(|start| start..position));
        } else {
            start.get_or_insert(position);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_separated_by_whitespace() {
        assert_eq!(words(" ab\u{3000}ç  d"), [1..3, 6..8, 10..11]);
        assert!(words(" \t").is_empty());
    }

    #[test]
    fn a_token_belongs_to_the_word_that_it_overlaps() {
        let words = words_of(&[0..2, 2..3, 3..6, 5..6, 6..6], "abc de");
        assert_eq!(words, [Some(0), Some(0), Some(1), Some(1), None]);
    }
}
