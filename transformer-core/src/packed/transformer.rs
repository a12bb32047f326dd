//! [`PackedTransformer`]: the whole model.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use transformer_kernels::Norm;

use super::ComputePrecision;
use super::decoder::Recorded;
use super::layers::PackedLinear;
use super::layers::{PackedDecoderLayer, PackedEncoderLayer, Stack};
use super::norm;
use super::state::{LimitedOutputs, PackedState, SentenceMemory};
use super::weights::PositionVectors;
use super::weights::{Packer, WeightMatrix};
use super::workspace::Workspace;
use crate::config::{self, Place, TransformerConfig, Tying};
use crate::directory::{Precision, StoredTensors};
use crate::model::Transformer;
use crate::text::BOS;
use crate::{LoadError, ModelDirectory, Shortlist};

/// A [`Transformer`](crate::Transformer) for generation on CPUs.
///
/// It has no gradients and never changes, so threads can share it. Each thread has its own [`Workspace`].
pub struct PackedTransformer {
    config: TransformerConfig,
    precision: ComputePrecision,
    src_embeddings: Arc<WeightMatrix>,
    tgt_embeddings: Arc<WeightMatrix>,
    src_positions: PositionVectors,
    tgt_positions: PositionVectors,
    src_embedding_norm: Option<Norm>,
    tgt_embedding_norm: Option<Norm>,
    encoder: Stack<PackedEncoderLayer>,
    decoder: Stack<PackedDecoderLayer>,
    /// Empty without a bias.
    output_bias: Vec<f32>,
    /// The output layer for all tokens, packed on first use: with a shortlist few sentences need it.
    projection: OnceLock<PackedLinear>,
    shortlist: Option<Arc<Shortlist>>,
}

impl ModelDirectory {
    /// Loads the model for generation on CPUs.
    ///
    /// Without a precision, a model that is stored in 8-bit integers computes in them, and any other model in 32-bit
    /// floats. A shortlist of the model is used. A model that is stored in floats is rounded to integers as
    /// [`write_quantized`](Self::write_quantized) does it, so the translations are those of the smaller directory.
    ///
    /// # Errors
    ///
    /// Returns a [`LoadError`] as [`load`](Self::load) does.
    pub fn load_packed(
        &self,
        precision: Option<ComputePrecision>,
    ) -> Result<PackedTransformer, LoadError> {
        let precision = precision.unwrap_or_else(|| self.compute_precision());
        let model = PackedTransformer::pack(self.config(), self.stored_tensors()?, precision)?;
        Ok(model.with_shortlist(self.shortlist().cloned()))
    }

    /// Returns the number format that [`load_packed`](Self::load_packed) chooses.
    pub fn compute_precision(&self) -> ComputePrecision {
        match self.manifest().precision {
            Precision::Int8 => ComputePrecision::Int8,
            Precision::F32 | Precision::F16 => ComputePrecision::F32,
        }
    }
}

impl PackedTransformer {
    /// Copies the weights of a model. Later changes to the model have no effect.
    ///
    /// # Panics
    ///
    /// Panics if the names or shapes of the model's parameters differ from its config, as after a
    /// [`ModuleMapper`](burn::module::ModuleMapper) that changes shapes.
    pub fn of(model: &Transformer, precision: ComputePrecision) -> Self {
        let tensors = StoredTensors::of_model(model);
        match Self::pack(model.config(), tensors, precision) {
            Ok(packed) => packed,
            Err(error) => panic!("the model has other parameters than its config says: {error}"),
        }
    }

    /// Packs weights. The config must be valid.
    pub(crate) fn pack(
        config: &TransformerConfig,
        weights: StoredTensors,
        precision: ComputePrecision,
    ) -> Result<Self, LoadError> {
        let packer = Packer {
            weights: &weights,
            config,
            precision,
        };
        let src_embeddings = packer.embeddings(Place::SrcVocabulary)?;
        let tgt_embeddings = match config.tying {
            Tying::All => src_embeddings.clone(),
            Tying::Decoder | Tying::None => packer.embeddings(Place::TgtVocabulary)?,
        };
        let output_bias = packer.output_bias()?;
        let projection = match config.tying {
            Tying::All | Tying::Decoder => OnceLock::new(),
            Tying::None => {
                let output = packer.embeddings(Place::Output)?;
                OnceLock::from(output.projection(output_bias.clone(), config.d_model))
            }
        };
        let embedding_norm = |stack| {
            let pack = || norm::pack(&packer, |it| Place::EmbeddingNorm(stack, it));
            config.embedding_norm.then(pack).transpose()
        };
        let packed = Self {
            config: config.clone(),
            precision,
            src_embeddings,
            tgt_embeddings,
            src_positions: PositionVectors::pack(&packer, config::Stack::Encoder)?,
            tgt_positions: PositionVectors::pack(&packer, config::Stack::Decoder)?,
            src_embedding_norm: embedding_norm(config::Stack::Encoder)?,
            tgt_embedding_norm: embedding_norm(config::Stack::Decoder)?,
            encoder: packer.encoder()?,
            decoder: packer.decoder()?,
            output_bias,
            projection,
            shortlist: None,
        };
        weights.check_all_taken().map(|()| packed)
    }

    /// Sets the shortlist by which [`begin_limited`](Self::begin_limited) limits the output. It is not used if the
    /// output matrix is not that of the target embeddings.
    #[must_use]
    pub fn with_shortlist(self, shortlist: Option<Arc<Shortlist>>) -> Self {
        let is_tied = self.config.tying != Tying::None;
        let shortlist = shortlist.filter(|_| is_tied);
        if shortlist.is_none() {
            self.projection();
        }
        Self { shortlist, ..self }
    }

    fn projection(&self) -> &PackedLinear {
        if let Some(projection) = self.projection.get() {
            return projection;
        }
        // Not inside the lock: a thread that waits for parts of this work may begin another task that needs it, too.
        let bias = self.output_bias.clone();
        let projection = self.tgt_embeddings.projection(bias, self.config.d_model);
        self.projection.get_or_init(|| projection)
    }

    /// Returns whether a shortlist limits the output.
    pub fn has_shortlist(&self) -> bool {
        self.shortlist.is_some()
    }

    /// Returns the hyper-parameters.
    pub fn config(&self) -> &TransformerConfig {
        &self.config
    }

    /// Returns the number format of the matrix products.
    pub fn precision(&self) -> ComputePrecision {
        self.precision
    }

    /// Encodes sentences, and returns the state before the first target token, with one row for each sentence.
    ///
    /// # Panics
    ///
    /// Panics if there is no sentence, if one is empty, if an id is not in the source vocabulary,
    /// or if a sentence is longer than the learned positions.
    pub fn begin<S: AsRef<[u32]>>(
        &self,
        sentences: &[S],
        workspace: &mut Workspace,
    ) -> PackedState {
        assert!(!sentences.is_empty(), "there is at least one sentence");
        let (vocab, d_model) = (self.config.src_vocab_size, self.config.d_model);
        let mut ranges: Vec<Range<usize>> = Vec::with_capacity(sentences.len());
        let mut n_tokens = 0;
        for sentence in sentences {
            let ids = sentence.as_ref();
            assert!(!ids.is_empty(), "a sentence has at least one token, EOS");
            assert_in_vocabulary("source", ids, vocab);
            ranges.push(n_tokens..n_tokens + ids.len());
            n_tokens += ids.len();
        }
        workspace.x.resize(n_tokens * d_model, 0.0);
        let factor = self.embedding_factor();
        for (sentence, range) in sentences.iter().zip(&ranges) {
            let vectors = &mut workspace.x[range.start * d_model..range.end * d_model];
            let vectors = vectors.chunks_exact_mut(d_model);
            for (id, vector) in sentence.as_ref().iter().zip(vectors) {
                self.src_embeddings.write(*id as usize, factor, vector);
            }
            let vectors = &mut workspace.x[range.start * d_model..range.end * d_model];
            add(
                vectors,
                &self.src_positions.vectors(0, range.len(), d_model),
            );
        }
        if let Some(norm) = &self.src_embedding_norm {
            norm.forward(&mut workspace.x);
        }
        self.encoder.encode(&ranges, workspace);
        let lens: Vec<usize> = ranges.iter().map(Range::len).collect();
        self.decoder.begin(&lens, workspace)
    }

    /// Like [`begin`](Self::begin), and limits the output of the sentences for which `is_limited` is true by the
    /// shortlist, if there is one.
    ///
    /// # Panics
    ///
    /// Panics as [`begin`](Self::begin) does.
    pub fn begin_limited<S: AsRef<[u32]>>(
        &self,
        sentences: &[S],
        is_limited: &[bool],
        workspace: &mut Workspace,
    ) -> PackedState {
        let mut state = self.begin(sentences, workspace);
        let Some(shortlist) = &self.shortlist else {
            return state;
        };
        for (row, (sentence, is_limited)) in sentences.iter().zip(is_limited).enumerate() {
            if *is_limited {
                let ids = shortlist.candidates(sentence.as_ref());
                let (bias, d_model) = (&self.output_bias, self.config.d_model);
                let projection = self.tgt_embeddings.projection_of(&ids, bias, d_model);
                state.limit(row, LimitedOutputs { ids, projection });
            }
        }
        state
    }

    /// Returns a state without rows, for sentences to [join](PackedState::join).
    pub fn without_rows(&self) -> PackedState {
        PackedState::new(Vec::new(), self.decoder.own_state(0))
    }

    /// Appends one token to each row, and returns the logits of the next, row by row.
    ///
    /// The logits of a row depend only on its sentence and its tokens, to the last bit. In a row that is limited, all
    /// other tokens have the logit −∞.
    ///
    /// # Panics
    ///
    /// Panics if there is not one token for each row, if an id is not in the target vocabulary, or
    /// if the rows become longer than the learned positions.
    pub fn step<'w>(
        &self,
        state: &mut PackedState,
        last_tokens: &[u32],
        workspace: &'w mut Workspace,
    ) -> &'w mut [f32] {
        self.decode(state, last_tokens, workspace, None);
        self.fill_limited(state, workspace)
    }

    /// Like [`step`](Self::step), but a row that is limited has the logits of its
    /// [candidates](PackedState::candidates) only, in their order.
    ///
    /// # Panics
    ///
    /// Panics as [`step`](Self::step) does.
    pub fn step_limited<'w>(
        &self,
        state: &mut PackedState,
        last_tokens: &[u32],
        workspace: &'w mut Workspace,
    ) -> &'w mut [f32] {
        self.decode(state, last_tokens, workspace, None);
        &mut workspace.logits
    }

    /// Like [`step`](Self::step), and also returns the mean over the heads of the last layer's attention: for each row,
    /// one weight for each token of its sentence.
    ///
    /// # Panics
    ///
    /// Panics as [`step`](Self::step) does.
    pub fn step_with_attention<'w>(
        &self,
        state: &mut PackedState,
        last_tokens: &[u32],
        workspace: &'w mut Workspace,
    ) -> (&'w mut [f32], Vec<Vec<f32>>) {
        let mut recorded = Recorded {
            layer: self.config.n_decoder_layers - 1,
            heads: 0..self.config.n_heads,
            weights: Vec::with_capacity(last_tokens.len()),
        };
        self.decode(state, last_tokens, workspace, Some(&mut recorded));
        (self.fill_limited(state, workspace), recorded.weights)
    }

    /// Writes the logits of each row, of its candidates only if it is limited.
    fn decode(
        &self,
        state: &mut PackedState,
        last_tokens: &[u32],
        workspace: &mut Workspace,
        recorded: Option<&mut Recorded>,
    ) {
        self.advance(state, last_tokens, workspace, recorded);
        let (vocab, d_model) = (self.config.tgt_vocab_size, self.config.d_model);
        // Rows of one sentence are products with one matrix, as are neighbors that are not limited.
        let is_one = |a: &Arc<SentenceMemory>, b: &Arc<SentenceMemory>| {
            Arc::ptr_eq(a, b) || a.outputs.is_none() && b.outputs.is_none()
        };
        let width = |memory: &Arc<SentenceMemory>| {
            let outputs = memory.outputs.as_ref();
            outputs.map_or(vocab, |outputs| outputs.ids.len())
        };
        let logits = &mut workspace.logits;
        logits.resize(state.memories.iter().map(width).sum(), 0.0);
        let (mut x, mut logits) = (workspace.x.as_slice(), logits.as_mut_slice());
        for rows in state.memories.chunk_by(is_one) {
            let (input, output);
            (input, x) = x.split_at(rows.len() * d_model);
            (output, logits) = logits.split_at_mut(rows.iter().map(width).sum());
            let outputs = rows[0].outputs.as_ref();
            let projection = outputs.map_or_else(|| self.projection(), |it| &it.projection);
            projection.write(&mut workspace.kernels, input, None, output);
        }
    }

    /// Appends one token to each row, and writes the decoder's output to [`Workspace::x`].
    pub(super) fn advance(
        &self,
        state: &mut PackedState,
        last_tokens: &[u32],
        workspace: &mut Workspace,
        recorded: Option<&mut Recorded>,
    ) {
        assert_eq!(last_tokens.len(), state.n_rows(), "each row gets one token");
        let (vocab, d_model) = (self.config.tgt_vocab_size, self.config.d_model);
        assert_in_vocabulary("target", last_tokens, vocab);
        workspace.x.resize(last_tokens.len() * d_model, 0.0);
        let factor = self.embedding_factor();
        let vectors = workspace.x.chunks_exact_mut(d_model);
        let mut known: Option<(usize, Cow<'_, [f32]>)> = None;
        for ((id, vector), position) in last_tokens.iter().zip(vectors).zip(&state.lens) {
            match *id == BOS && self.config.start_from_zeros {
                true => vector.fill(0.0),
                false => self.tgt_embeddings.write(*id as usize, factor, vector),
            }
            // Rows of a sentence have the same position, and many sentences began together.
            let (_, encoding) = match known.take_if(|(it, _)| it == position) {
                Some(same) => known.insert(same),
                None => {
                    let encoding = self.tgt_positions.vectors(*position, 1, d_model);
                    known.insert((*position, encoding))
                }
            };
            add(vector, encoding);
        }
        if let Some(norm) = &self.tgt_embedding_norm {
            norm.forward(&mut workspace.x);
        }
        self.decoder.step(state, workspace, recorded);
    }

    /// Gives the tokens to which rows are not limited the logit −∞.
    fn fill_limited<'w>(&self, state: &PackedState, workspace: &'w mut Workspace) -> &'w mut [f32] {
        let logits = &mut workspace.logits;
        let is_limited = |row| state.candidates(row).is_some();
        if (0..state.n_rows()).any(is_limited) {
            let mut all = Vec::with_capacity(state.n_rows() * self.config.tgt_vocab_size);
            let mut rest = logits.as_slice();
            for row in 0..state.n_rows() {
                let start = all.len();
                let vocab = self.config.tgt_vocab_size;
                let ids = state.candidates(row);
                let (found, others) = rest.split_at(ids.map_or(vocab, <[u32]>::len));
                rest = others;
                match ids {
                    None => all.extend_from_slice(found),
                    Some(ids) => {
                        all.resize(start + vocab, f32::NEG_INFINITY);
                        for (id, logit) in ids.iter().zip(found) {
                            all[start + *id as usize] = *logit;
                        }
                    }
                }
            }
            *logits = all;
        }
        logits
    }

    fn embedding_factor(&self) -> f32 {
        match self.config.scale_embeddings {
            true => (self.config.d_model as f32).sqrt(),
            false => 1.0,
        }
    }
}

impl std::fmt::Debug for PackedTransformer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PackedTransformer")
            .field("precision", &self.precision)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// Adds `terms`, unless they are empty, to `x`.
fn add(x: &mut [f32], terms: &[f32]) {
    for (x, term) in x.iter_mut().zip(terms) {
        *x += term;
    }
}

fn assert_in_vocabulary(side: &str, ids: &[u32], vocab: usize) {
    if let Some(id) = ids.iter().find(|id| **id as usize >= vocab) {
        panic!("the {side} has the id {id}, which is not in its vocabulary of {vocab} tokens");
    }
}
