//! Word alignments of many translations, which the model reads once more in batches.

use std::cmp::Reverse;
use std::ops::Range;

use burn::tensor::{Device, Tensor};
use transformer_core::packed::Workspace;
use transformer_core::text::BOS;
use transformer_core::{Padded, Transformer};

use super::alignment::highest;
use super::record::words_of;
use super::{Alignment, Head, Kind, LayerHead, Link};
use crate::TranslatorError;
use crate::batch::batches_within;
use crate::scorer::{assert_in_vocabulary, without_autodiff};
use crate::translator::{ARE_PACKED, Candidate, Translation, Translator};

impl Translator {
    /// Returns the word alignments of each line's translations.
    ///
    /// The result is that of [`Attention::alignment`](super::Attention::alignment), for many lines at once: the model
    /// reads the translations once more, in batches. On CPUs it computes as it translates: where that is in 8-bit
    /// integers, an alignment may differ from that of the attention, which is computed in floats. An alignment does not
    /// depend on the other lines. Translations may come from any search over the same lines; the
    /// first model of an ensemble is used. A blank line or translation has the empty alignment, and words beyond the
    /// length limit of sources have no pair.
    ///
    /// # Errors
    ///
    /// Returns a [`TranslatorError`] if the layer or the head does not exist, or if the model computes NaN.
    ///
    /// # Panics
    ///
    /// Panics if the numbers of lines and translations differ, or if a token is not in the target vocabulary.
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
    /// let lines = ["one million and seven", "twelve"];
    /// let translations = translator.translate(&lines)?;
    /// for of_line in translator.alignments(&lines, &translations, LayerHead::default())? {
    ///     println!("{}", of_line[0]);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn alignments<T: AsRef<str>>(
        &self,
        lines: &[T],
        translations: &[Translation],
        layer_head: LayerHead,
    ) -> Result<Vec<Vec<Alignment>>, TranslatorError> {
        self.align(lines, translations, layer_head, |line, target, map| {
            let src_words = words_of(&line.src_spans, &line.text);
            let tgt_words = words_of(&target.spans, &target.text);
            Alignment::between(&src_words, &tgt_words, map.chunks(line.row_len))
        })
    }

    /// Returns, for each translation of every line, the source token that each token attends to most.
    ///
    /// While [`alignments`](Self::alignments) aligns words, this aligns byte ranges of the texts, for scripts without
    /// spaces and for markup. Tokens that attend most to EOS have no link, and neither have tokens without text.
    ///
    /// # Errors
    ///
    /// See [`alignments`](Self::alignments).
    ///
    /// # Panics
    ///
    /// See [`alignments`](Self::alignments).
    pub fn links<T: AsRef<str>>(
        &self,
        lines: &[T],
        translations: &[Translation],
        layer_head: LayerHead,
    ) -> Result<Vec<Vec<Vec<Link>>>, TranslatorError> {
        self.align(lines, translations, layer_head, |line, target, map| {
            let rows = target.spans.iter().zip(map.chunks(line.row_len));
            let link = |(tgt, row): (&Range<usize>, &[f32])| {
                let src = line.src_spans.get(highest(row)?)?;
                let (src, tgt) = (src.clone(), tgt.clone());
                (!src.is_empty() && !tgt.is_empty()).then_some(Link { src, tgt })
            };
            rows.filter_map(link).collect()
        })
    }

    /// Returns the [links](Self::links) of the best translation of each line, or none where `lines` has none.
    ///
    /// # Errors
    ///
    /// See [`alignments`](Self::alignments).
    pub fn best_links(
        &self,
        lines: &[Option<&str>],
        translations: &[Translation],
    ) -> Result<Vec<Vec<Link>>, TranslatorError> {
        let pairs = lines.iter().zip(translations);
        let pairs = pairs.filter_map(|(line, it)| Some(((*line)?, it.clone())));
        let (texts, best): (Vec<&str>, Vec<Translation>) = pairs.unzip();
        if texts.is_empty() {
            return Ok(vec![Vec::new(); lines.len()]);
        }
        let links = self.links(&texts, &best, LayerHead::default())?;
        let mut links = links.into_iter();
        let of_line = |line: &Option<&str>| line.and_then(|_| links.next()?.into_iter().next());
        let links = lines.iter().map(of_line);
        Ok(links.map(Option::unwrap_or_default).collect())
    }

    /// Computes a `T` from the attention of each translation, given as a row for each of its tokens.
    fn align<T: AsRef<str>, A: Clone + Default>(
        &self,
        lines: &[T],
        translations: &[Translation],
        layer_head: LayerHead,
        read: impl Fn(&Line, &Target, &[f32]) -> A,
    ) -> Result<Vec<Vec<A>>, TranslatorError> {
        assert_eq!(
            lines.len(),
            translations.len(),
            "every line needs its translation"
        );
        let layer = layer_head.layer_in(self.config(), Kind::Cross)? - 1;
        let lines = lines.iter().zip(translations);
        let lines = lines.map(|(line, it)| self.line(line.as_ref(), it));
        let lines: Vec<Line> = lines.collect();
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.retain(|index| !lines[*index].targets.is_empty());
        order.sort_by_key(|index| Reverse(lines[*index].width()));
        let none = |translation: &Translation| vec![A::default(); translation.candidates.len()];
        let mut found: Vec<Vec<A>> = translations.iter().map(none).collect();
        let width = |index: usize| lines[index].width();
        for batch in batches_within(self.limits.batch_tokens, order, width) {
            let of_batch: Vec<&Line> = batch.iter().map(|index| &lines[*index]).collect();
            let mut maps = self.maps_of(&of_batch, layer, layer_head.head)?.into_iter();
            for (index, line) in batch.iter().zip(of_batch) {
                for (target, map) in line.targets.iter().zip(&mut maps) {
                    if map.iter().any(|weight| !weight.is_finite()) {
                        return Err(TranslatorError::AttentionNotANumber);
                    }
                    found[*index][target.rank] = read(line, target, &map);
                }
            }
        }
        Ok(found)
    }

    /// Returns the attention of each translation of a batch to the tokens of its line, `[tgt_len, row_len]`.
    fn maps_of(
        &self,
        batch: &[&Line],
        layer: usize,
        head: Head,
    ) -> Result<Vec<Vec<f32>>, TranslatorError> {
        let sources: Vec<&[u32]> = batch.iter().map(|line| line.src_ids.as_slice()).collect();
        let targets = batch.iter().enumerate().flat_map(|(index, line)| {
            let targets = line.targets.iter();
            targets.map(move |target| (index, target.input.as_slice()))
        });
        let targets: Vec<(usize, &[u32])> = targets.collect();
        match self.packed() {
            Some(packed) => {
                let heads = match head {
                    Head::Mean => 0..packed.config().n_heads,
                    Head::One(head) => head - 1..head,
                };
                let workspace = &mut Workspace::new();
                Ok(packed.cross_attention(&sources, &targets, layer, heads, workspace))
            }
            None if ARE_PACKED => unreachable!("models are packed when they are opened"),
            None => {
                let model = without_autodiff(self.model()?);
                Ok(maps_of_module(&model, &sources, &targets, layer, head))
            }
        }
    }

    fn line(&self, line: &str, translation: &Translation) -> Line {
        let tokenizer = self.tokenizers.src();
        let line = tokenizer.start_of_line(line, self.limits.max_src_len);
        let (mut src_ids, mut src_spans) = tokenizer.encode_spans(line);
        if line.trim().is_empty() {
            src_ids.clear(); // a tokenizer may have tokens for spaces
        }
        let (direction, most) = (translation.direction, self.limits.max_src_len);
        direction.mark(&mut src_ids, most);
        direction.insert(&mut src_spans, most, |_| 0..0);
        src_ids.truncate(most);
        src_spans.truncate(src_ids.len());
        let candidates = translation.candidates.iter().enumerate();
        let candidates = candidates.filter(|(_, candidate)| !candidate.hypothesis.ids.is_empty());
        let targets = match src_ids.is_empty() {
            true => Vec::new(),
            false => candidates.map(|(rank, it)| self.target(rank, it)).collect(),
        };
        self.config().end_source(&mut src_ids);
        Line {
            text: line.to_owned(),
            row_len: src_ids.len(),
            src_ids,
            src_spans,
            targets,
        }
    }

    fn target(&self, rank: usize, candidate: &Candidate) -> Target {
        let ids = &candidate.hypothesis.ids;
        assert_in_vocabulary("target", ids, self.config().tgt_vocab_size);
        let (text, spans) = self.tokenizers.tgt().decode_spans(ids);
        Target {
            rank,
            input: [&[BOS], &ids[..ids.len() - 1]].concat(),
            text,
            spans,
        }
    }
}

struct Line {
    /// The part of the line that is read.
    text: String,
    src_ids: Vec<u32>,
    row_len: usize,
    /// The bytes of the text of each source token except EOS.
    src_spans: Vec<Range<usize>>,
    /// The translations that are not empty; no translations if the source is empty.
    targets: Vec<Target>,
}

struct Target {
    /// Its index among the translations of the line.
    rank: usize,
    /// The decoder's input: BOS and all tokens except the last.
    input: Vec<u32>,
    text: String,
    /// The bytes of the translation of each token.
    spans: Vec<Range<usize>>,
}

impl Line {
    /// Returns the number of cells of the larger side; the target side includes all translations.
    fn width(&self) -> usize {
        let longest = self.targets.iter().map(|target| target.input.len()).max();
        let tgt_width = longest.unwrap_or(0) * self.targets.len();
        self.src_ids.len().max(tgt_width)
    }
}

/// Encodes each line of a batch once, decodes all its translations, and returns the maps of these.
fn maps_of_module(
    model: &Transformer,
    sources: &[&[u32]],
    targets: &[(usize, &[u32])],
    layer: usize,
    head: Head,
) -> Vec<Vec<f32>> {
    let device: Device = model.device();
    let (rows, inputs): (Vec<usize>, Vec<&[u32]>) = targets.iter().copied().unzip();
    let memory = model.encode(&Padded::new(sources, &device));
    let mut state = model.begin(&memory).select(&rows);
    let inputs = Padded::new(&inputs, &device);
    let maps = model.cross_attention(inputs.ids(), &mut state, layer);
    let [n_rows, _, tgt_len, src_len] = maps.dims(); // [rows, n_heads, tgt_len, src_len]
    let map: Tensor<4> = match head {
        Head::Mean => maps.mean_dim(1),
        Head::One(head) => maps.narrow(1, head - 1, 1),
    };
    let weights = map.reshape([n_rows, tgt_len, src_len]).into_data();
    let weights: Vec<f32> = weights.iter::<f32>().collect();
    let maps = weights.chunks(tgt_len * src_len).zip(targets);
    let map = |(map, (line, target)): (&[f32], &(usize, &[u32]))| {
        let rows = map.chunks(src_len).take(target.len());
        let weights = rows.flat_map(|row| &row[..sources[*line].len()]);
        weights.copied().collect()
    };
    maps.map(map).collect()
}
