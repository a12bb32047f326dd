//! The table of a model's parameters: the place, saved name and shape of each, in the order in which they are drawn.

use std::str::FromStr;
use std::{fmt, iter};

use strum::{Display, EnumString};

use super::{Mixing, NormKind, TransformerConfig, Tying};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Stack {
    Encoder,
    Decoder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Part {
    SelfAttention,
    Recurrence,
    CrossAttention,
    FeedForward,
}

/// A linear layer of a sub-layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Linear {
    Query,
    Key,
    Value,
    Output,
    Inner,
    Gate,
    Outer,
    Candidate,
    Forget,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString)]
pub(crate) enum Vector {
    #[strum(serialize = "gamma")]
    Gain,
    #[strum(serialize = "beta")]
    Offset,
}

/// A sub-layer. It is displayed as the name of its layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SubLayer {
    pub(crate) stack: Stack,
    pub(crate) layer: usize,
    pub(crate) part: Part,
}

/// The place of a parameter in a model. It is displayed as the parameter's name in saved files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    SrcVocabulary,
    TgtVocabulary,
    Output,
    OutputBias,
    Positions(Stack),
    EmbeddingNorm(Stack, Vector),
    Matrix(SubLayer, Linear),
    Bias(SubLayer, Linear),
    Norm(SubLayer, Vector),
    FinalNorm(Stack, Vector),
}

impl Stack {
    pub(crate) const BOTH: [Self; 2] = [Self::Encoder, Self::Decoder];
}

impl SubLayer {
    pub(crate) const fn index(self) -> usize {
        match (self.part, self.stack) {
            (Part::SelfAttention | Part::Recurrence, _) => 0,
            (Part::CrossAttention, _) | (Part::FeedForward, Stack::Encoder) => 1,
            (Part::FeedForward, Stack::Decoder) => 2,
        }
    }
}

impl Place {
    pub(crate) fn named(name: &str) -> Option<Self> {
        let path: Vec<&str> = name.split('.').collect();
        let parameter = match path[..] {
            ["src_vocabulary", "weight"] => Self::SrcVocabulary,
            ["tgt_vocabulary", "weight"] => Self::TgtVocabulary,
            ["output", "weight"] => Self::Output,
            ["output_bias"] => Self::OutputBias,
            ["src_positions", "learned"] => Self::Positions(Stack::Encoder),
            ["tgt_positions", "learned"] => Self::Positions(Stack::Decoder),
            ["src_embedding_norm", vector] => Self::EmbeddingNorm(Stack::Encoder, parse(vector)?),
            ["tgt_embedding_norm", vector] => Self::EmbeddingNorm(Stack::Decoder, parse(vector)?),
            [stack, "final_norm", vector] => Self::FinalNorm(parse(stack)?, parse(vector)?),
            [stack, "layers", layer, block, linear, kind] => {
                let (stack, layer) = (parse(stack)?, layer.parse().ok()?);
                let part = parse(block.strip_suffix("_residual").unwrap_or(block))?;
                let at = SubLayer { stack, layer, part };
                match (linear, kind) {
                    ("norm", vector) => Self::Norm(at, parse(vector)?),
                    (linear, "weight") => Self::Matrix(at, parse(linear)?),
                    (linear, "bias") => Self::Bias(at, parse(linear)?),
                    _ => return None,
                }
            }
            _ => return None,
        };
        (parameter.to_string() == name).then_some(parameter)
    }

    /// Returns whether the place is a matrix with one row per token.
    pub(crate) const fn is_vocabulary(self) -> bool {
        matches!(
            self,
            Self::SrcVocabulary | Self::TgtVocabulary | Self::Output
        )
    }
}

impl TransformerConfig {
    /// Returns the places and shapes of all parameters, in the order of the modules' fields.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (Place, Vec<usize>)> {
        let vocabularies = [Place::SrcVocabulary, Place::TgtVocabulary, Place::Output];
        let is_tied = |parameter| {
            self.tied_places()
                .iter()
                .any(|(twin, _)| *twin == parameter)
        };
        let mut parameters: Vec<Place> = vocabularies
            .into_iter()
            .filter(|it| !is_tied(*it))
            .collect();
        parameters.extend(self.output_bias.then_some(Place::OutputBias));
        if self.position_limit().is_some() {
            parameters.extend(Stack::BOTH.map(Place::Positions));
        }
        for stack in Stack::BOTH.into_iter().filter(|_| self.embedding_norm) {
            parameters.extend(self.vectors().map(|it| Place::EmbeddingNorm(stack, it)));
        }
        let depths = [self.n_encoder_layers, self.n_decoder_layers];
        for (stack, n_layers) in Stack::BOTH.into_iter().zip(depths) {
            for layer in 0..n_layers {
                for &part in self.parts(stack) {
                    let at = SubLayer { stack, layer, part };
                    for &linear in self.linears(part) {
                        parameters.push(Place::Matrix(at, linear));
                        let bias = self.has_bias(part, linear);
                        parameters.extend(bias.then_some(Place::Bias(at, linear)));
                    }
                    parameters.extend(self.vectors().map(|vector| Place::Norm(at, vector)));
                }
            }
            if self.final_norm {
                parameters.extend(self.vectors().map(|vector| Place::FinalNorm(stack, vector)));
            }
        }
        parameters
            .into_iter()
            .map(|parameter| (parameter, self.shape(parameter)))
    }

    /// Returns the matrices that the model lacks because they are tied, each with the matrix used in its place.
    pub(crate) const fn tied_places(&self) -> &'static [(Place, Place)] {
        use Place::{Output, SrcVocabulary, TgtVocabulary};
        match self.tying {
            Tying::None => &[],
            Tying::Decoder => &[(Output, TgtVocabulary)],
            Tying::All => &[(TgtVocabulary, SrcVocabulary), (Output, SrcVocabulary)],
        }
    }

    const fn linears(&self, part: Part) -> &'static [Linear] {
        use Linear::{Candidate, Forget, Gate, Inner, Key, Outer, Output, Query, Value};
        match part {
            Part::SelfAttention | Part::CrossAttention => &[Query, Key, Value, Output],
            Part::Recurrence => &[Candidate, Forget],
            Part::FeedForward if self.gated_feed_forward => &[Inner, Gate, Outer],
            Part::FeedForward => &[Inner, Outer],
        }
    }

    const fn parts(&self, stack: Stack) -> &'static [Part] {
        use Part::{CrossAttention, FeedForward, Recurrence, SelfAttention};
        match (stack, self.decoder_mixing) {
            (Stack::Encoder, _) => &[SelfAttention, FeedForward],
            (Stack::Decoder, Mixing::SelfAttention) => {
                &[SelfAttention, CrossAttention, FeedForward]
            }
            (Stack::Decoder, Mixing::Ssru) => &[Recurrence, CrossAttention, FeedForward],
        }
    }

    pub(crate) fn has_bias(&self, part: Part, linear: Linear) -> bool {
        match part {
            Part::SelfAttention | Part::CrossAttention => self.attention_bias,
            Part::Recurrence => linear == Linear::Forget,
            Part::FeedForward => true,
        }
    }

    /// Returns the number of features that a feed-forward network computes from each token before its outer matrix,
    /// without activations.
    pub fn hidden_width(&self) -> usize {
        let linears = self.linears(Part::FeedForward).iter();
        let hidden = linears.filter(|linear| **linear != Linear::Outer);
        hidden.map(|linear| self.widths(*linear)[1]).sum()
    }

    fn vectors(&self) -> impl Iterator<Item = Vector> {
        let offset = (self.norm_kind == NormKind::Layer).then_some(Vector::Offset);
        iter::once(Vector::Gain).chain(offset)
    }

    pub(crate) fn shape(&self, parameter: Place) -> Vec<usize> {
        let d_model = self.d_model;
        match parameter {
            Place::SrcVocabulary => vec![self.src_vocab_size, d_model],
            Place::TgtVocabulary | Place::Output => vec![self.tgt_vocab_size, d_model],
            Place::OutputBias => vec![self.tgt_vocab_size],
            Place::Positions(_) => vec![self.first_position + self.max_positions, d_model],
            Place::Matrix(_, linear) => self.widths(linear).to_vec(),
            Place::Bias(_, linear) => vec![self.widths(linear)[1]],
            Place::EmbeddingNorm(..) | Place::Norm(..) | Place::FinalNorm(..) => vec![d_model],
        }
    }

    /// Returns the numbers of input and output features of a linear layer.
    pub(crate) fn widths(&self, linear: Linear) -> [usize; 2] {
        let (d_model, n_heads) = (self.d_model, self.n_heads);
        match linear {
            Linear::Query | Linear::Key => [d_model, n_heads * self.head_d_k()],
            Linear::Value => [d_model, n_heads * self.head_d_v()],
            Linear::Output => [n_heads * self.head_d_v(), d_model],
            Linear::Inner | Linear::Gate => [d_model, self.d_ff],
            Linear::Outer => [self.d_ff, d_model],
            Linear::Candidate | Linear::Forget => [d_model, d_model],
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::SrcVocabulary => f.write_str("src_vocabulary.weight"),
            Self::TgtVocabulary => f.write_str("tgt_vocabulary.weight"),
            Self::Output => f.write_str("output.weight"),
            Self::OutputBias => f.write_str("output_bias"),
            Self::Positions(Stack::Encoder) => f.write_str("src_positions.learned"),
            Self::Positions(Stack::Decoder) => f.write_str("tgt_positions.learned"),
            Self::EmbeddingNorm(Stack::Encoder, vector) => write!(f, "src_embedding_norm.{vector}"),
            Self::EmbeddingNorm(Stack::Decoder, vector) => write!(f, "tgt_embedding_norm.{vector}"),
            Self::Matrix(at, linear) => write!(f, "{at}.{}.{linear}.weight", at.part),
            Self::Bias(at, linear) => write!(f, "{at}.{}.{linear}.bias", at.part),
            Self::Norm(at, vector) => write!(f, "{at}.{}_residual.norm.{vector}", at.part),
            Self::FinalNorm(stack, vector) => write!(f, "{stack}.final_norm.{vector}"),
        }
    }
}

impl fmt::Display for SubLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.layers.{}", self.stack, self.layer)
    }
}

fn parse<T: FromStr>(word: &str) -> Option<T> {
    word.parse().ok()
}
