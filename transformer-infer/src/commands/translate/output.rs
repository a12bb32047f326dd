//! The output of translations, and the flags for it and for word alignments.

use std::io::{self, Write};

use clap::Args;
use serde::Serialize;
use transformer_core::text::{EOS, Tokenizer};
use transformer_infer::attention::{Alignment, Head, Kind, LayerHead};
use transformer_infer::search::Hypothesis;
use transformer_infer::{Translation, Translator};

use crate::commands::{CommandError, on_one_line};

#[derive(Debug, Args)]
pub(super) struct OutputFlags {
    /// Print before each translation its score and a tab.
    ///
    /// The score is the logarithm of the probability divided by the length penalty.
    #[arg(long)]
    scores: bool,
    /// Print one JSON object per line: `src`, `translations` with their `text` and `score`, a `warning` if any, and the
    /// `unmet_terms` of --terms if any.
    #[arg(long)]
    json: bool,
    /// With --json: the tokens of each translation, EOS included, and their log-probabilities.
    #[arg(long, requires = "json")]
    pub(super) token_scores: bool,
}

#[derive(Debug)]
pub(super) struct Answer<'a> {
    pub(super) src: &'a str,
    pub(super) translation: &'a Translation,
    pub(super) terms: &'a [&'a str],
    /// The alignment of each candidate, with `--alignments`.
    pub(super) alignments: Option<&'a [Alignment]>,
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    src: &'a str,
    translations: Vec<Scored<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unmet_terms: Vec<&'a str>,
}

#[derive(Debug, Serialize)]
struct Scored<'a> {
    text: &'a str,
    score: f64,
    log_prob: f64,
    finished: bool,
    /// Indices of source word and translation word.
    #[serde(skip_serializing_if = "Option::is_none")]
    alignment: Option<&'a [(usize, usize)]>,
    #[serde(flatten)]
    tokens: Option<Tokens<'a>>,
}

#[derive(Debug, Serialize)]
struct Tokens<'a> {
    tokens: Vec<String>,
    token_log_probs: &'a [f32],
}

impl OutputFlags {
    /// Writes the translations of a line: `n_best` lines, or one line of JSON.
    pub(super) fn write(
        &self,
        answer: &Answer<'_>,
        n_best: usize,
        tokenizer: &Tokenizer,
        output: &mut impl Write,
    ) -> io::Result<()> {
        if self.json {
            return self.write_json(answer, tokenizer, output);
        }
        for rank in 0..n_best {
            let candidate = answer.translation.candidates.get(rank);
            if self.scores {
                let score = candidate.map_or(f64::NEG_INFINITY, |it| it.hypothesis.score);
                write!(output, "{score:.4}\t")?;
            }
            let text = candidate.map_or("", |candidate| candidate.text.as_str());
            write!(output, "{}", on_one_line(text))?;
            if let Some(alignments) = answer.alignments {
                let alignment = alignments.get(rank).cloned().unwrap_or_default();
                write!(output, "\t{alignment}")?;
            }
            writeln!(output)?;
        }
        Ok(())
    }

    fn write_json(
        &self,
        answer: &Answer<'_>,
        tokenizer: &Tokenizer,
        output: &mut impl Write,
    ) -> io::Result<()> {
        let Answer {
            src,
            translation,
            terms,
            ..
        } = answer;
        let unmet = translation.unmet_terms.iter();
        let candidates = translation.candidates.iter().enumerate();
        let scored = candidates.map(|(rank, candidate)| {
            let hypothesis = &candidate.hypothesis;
            Scored {
                text: &candidate.text,
                score: hypothesis.score,
                log_prob: hypothesis.log_prob,
                finished: hypothesis.finished,
                alignment: answer
                    .alignments
                    .map(|alignments| alignments[rank].pairs.as_slice()),
                tokens: self
                    .token_scores
                    .then(|| Tokens::new(hypothesis, tokenizer)),
            }
        });
        let line = Line {
            src,
            translations: scored.collect(),
            warning: translation.warning.map(|warning| warning.to_string()),
            unmet_terms: unmet.map(|index| terms[*index]).collect(),
        };
        serde_json::to_writer(&mut *output, &line)?;
        writeln!(output)
    }
}

impl<'a> Tokens<'a> {
    /// Returns the tokens of the vocabulary, and EOS if the hypothesis is finished.
    fn new(hypothesis: &'a Hypothesis, tokenizer: &Tokenizer) -> Self {
        let token = |id: &u32| tokenizer.token(*id).unwrap_or_default();
        let end = hypothesis.finished.then(|| token(&EOS));
        Self {
            tokens: hypothesis.ids.iter().map(token).chain(end).collect(),
            token_log_probs: &hypothesis.token_log_probs,
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct AlignmentFlags {
    /// Print after each translation a tab and its word alignment, such as `0-0 1-2`: source word and translation
    /// word, counted from 0, aligned by attention. With --json it is a field.
    #[arg(long)]
    pub(super) alignments: bool,
    /// With --alignments: layer of the decoder, counted from 1 at the bottom [default: at five sixths of the depth,
    /// such as 5 of 6].
    #[arg(long, value_name = "N", requires = "alignments")]
    alignment_layer: Option<usize>,
    /// With --alignments: head, counted from 1, or `mean`.
    #[arg(long, value_name = "HEAD", default_value_t = Head::Mean, requires = "alignments")]
    alignment_head: Head,
}

impl AlignmentFlags {
    fn layer_head(&self) -> LayerHead {
        LayerHead {
            layer: self.alignment_layer,
            head: self.alignment_head,
        }
    }

    /// Checks that the model has the layer and the head, so that an error comes before the first translation.
    pub(super) fn check(&self, translator: &Translator) -> Result<(), CommandError> {
        let layer = self.layer_head().layer_in(translator.config(), Kind::Cross);
        Ok(layer.map(drop)?)
    }

    /// Returns the alignments of each line's translations, with `--alignments`.
    pub(super) fn align(
        &self,
        translator: &Translator,
        lines: &[&str],
        translations: &[Translation],
    ) -> Result<Option<Vec<Vec<Alignment>>>, CommandError> {
        if !self.alignments {
            return Ok(None);
        }
        let found = translator.alignments(lines, translations, self.layer_head())?;
        Ok(Some(found))
    }
}
