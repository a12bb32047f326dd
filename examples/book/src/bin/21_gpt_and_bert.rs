//! Chapter 21: a decoder alone writes, an encoder alone reads: GPT and BERT from the same parts.

use std::slice;

use anyhow::Result;
use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Int, Tensor, TensorData};
use transformer_core::model::{Encoder, PositionalEncoding, VocabularyMatrix};
use transformer_core::random::SplitMix64;
use transformer_core::{Mask, TransformerConfig, device};

const LEN: usize = 8;
/// Ids 0 to 25 are letters; 26 is the gap that BERT fills.
const VOCAB: usize = 27;
const GAP: i64 = 26;

/// One stack over embedded tokens, and a logit for each token.
#[derive(Module, Debug)]
struct LanguageModel {
    vocabulary: VocabularyMatrix,
    positions: PositionalEncoding,
    stack: Encoder,
}

impl LanguageModel {
    fn init(device: &Device) -> Result<Self> {
        let config = TransformerConfig {
            d_model: 32,
            d_ff: 64,
            n_heads: 2,
            n_encoder_layers: 2,
            dropout: 0.0,
            ..TransformerConfig::tiny(VOCAB, VOCAB)
        };
        Ok(Self {
            vocabulary: VocabularyMatrix::init(VOCAB, &config, device)?,
            positions: PositionalEncoding::init(&config, device)?,
            stack: Encoder::init(&config, device)?,
        })
    }

    fn logits(&self, ids: Tensor<2, Int>, mask: Option<Mask>) -> Tensor<3> {
        let ([_, len], device) = (ids.dims(), ids.device());
        let x = self.vocabulary.embed(ids); // [batch, len, d_model]
        let positions = self.positions.forward(0, len, &device).map(Tensor::unsqueeze);
        let x = positions.map_or(x.clone(), |positions| x + positions);
        self.vocabulary.logits(self.stack.forward(x, mask))
    }
}

/// Draws a piece of the alphabet, which begins anew after z, in steps of one or two letters.
fn text(random: &mut SplitMix64, len: usize) -> Vec<i64> {
    let (start, step) = (random.below(26) as i64, 1 + random.below(2) as i64);
    (0..len as i64).map(|at| (start + at * step) % 26).collect()
}

fn read(ids: &[i64]) -> String {
    ids.iter().map(|id| if *id == GAP { '_' } else { char::from(b'a' + *id as u8) }).collect()
}

fn tensor(rows: &[Vec<i64>], device: &Device) -> Tensor<2, Int> {
    Tensor::from_data(TensorData::new(rows.concat(), [rows.len(), rows[0].len()]), device)
}

/// Trains a model; `example` makes an input and its labels of a text.
fn train(
    device: &Device,
    is_causal: bool,
    example: impl Fn(Vec<i64>, &mut SplitMix64) -> (Vec<i64>, Vec<i64>),
) -> Result<LanguageModel> {
    device.seed(1);
    let mut model = LanguageModel::init(device)?;
    let mut optimizer = AdamConfig::new().with_beta_2(0.98).init();
    let loss_of =
        CrossEntropyLossConfig::new().with_pad_tokens(Some(vec![GAP as usize])).init(device);
    let mut random = SplitMix64::new(1);
    for update in 0..400 {
        let examples = (0..32).map(|_| example(text(&mut random, LEN + 1), &mut random));
        let (inputs, labels): (Vec<_>, Vec<_>) = examples.unzip();
        let mask = Mask::causal(0, LEN, device).filter(|_| is_causal);
        let logits = model.logits(tensor(&inputs, device), mask).reshape([32 * LEN, VOCAB]);
        let loss = loss_of.forward(logits, tensor(&labels, device).reshape([32 * LEN]));
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(5e-3 * (1.0 - f64::from(update) / 400.0), model, gradients);
    }
    Ok(model.valid())
}

fn main() -> Result<()> {
    let (_, plain) = device::choose(Some("flex"))?;
    let device = plain.clone().autodiff();
    // GPT predicts each next letter, and sees only those before it.
    let gpt = train(&device, true, |text, _| (text[..LEN].to_vec(), text[1..].to_vec()))?;
    println!("GPT, {} parameters", gpt.num_params());
    for start in ["abc", "ace", "xya"] {
        let mut ids: Vec<i64> = start.bytes().map(|letter| i64::from(letter - b'a')).collect();
        while ids.len() < LEN {
            let logits = gpt
                .logits(tensor(slice::from_ref(&ids), &plain), Mask::causal(0, ids.len(), &plain));
            ids.push(logits.narrow(1, ids.len() - 1, 1).argmax(2).into_scalar::<i64>());
        }
        println!("  {start} → {}", read(&ids));
    }

    // BERT fills gaps, and sees both sides. A label of GAP has no loss.
    let bert = train(&device, false, |text, random| {
        let gap = random.below(LEN as u64) as usize;
        let at = |position: usize, other: i64| if position == gap { text[position] } else { other };
        let input = (0..LEN).map(|position| if position == gap { GAP } else { text[position] });
        (input.collect(), (0..LEN).map(|position| at(position, GAP)).collect())
    })?;
    println!("BERT, {} parameters", bert.num_params());
    for line in ["_bcdefgh", "ac_gikmo", "mnop_rst"] {
        let ids: Vec<i64> = line
            .bytes()
            .map(|letter| if letter == b'_' { GAP } else { i64::from(letter - b'a') })
            .collect();
        let gap = ids.iter().position(|id| *id == GAP).unwrap_or(0);
        let best = bert
            .logits(tensor(&[ids], &plain), None)
            .narrow(1, gap, 1)
            .argmax(2)
            .into_scalar::<i64>();
        println!("  {line} → {}", read(&[best]));
    }
    Ok(())
}
