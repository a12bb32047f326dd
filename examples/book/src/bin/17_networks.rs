//! Chapter 17, part 2: the mean of five checkpoints of a network, and of two networks.

use anyhow::{Result, ensure};
use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::nn::loss::CrossEntropyLossConfig;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Tensor};
use transformer_core::random::SplitMix64;
use transformer_core::text::{BOS, EOS, N_SPECIAL, PAD};
use transformer_core::{Padded, Transformer, TransformerConfig, device};

const N_UPDATES: usize = 150;
const N_LETTERS: u64 = 8;

/// Draws words to copy, any of 2 to 6 letters, and returns the loss of a model on them.
fn loss(model: &Transformer, n_words: usize, random: &mut SplitMix64, at: &Device) -> Tensor<1> {
    let mut word = || -> Vec<u32> {
        let len = 2 + random.below(5);
        (0..len).map(|_| (N_SPECIAL + random.below(N_LETTERS) as usize) as u32).collect()
    };
    let words: Vec<Vec<u32>> = (0..n_words).map(|_| word()).collect();
    let ended: Vec<Vec<u32>> = words.iter().map(|word| [&word[..], &[EOS]].concat()).collect();
    let begun: Vec<Vec<u32>> = words.iter().map(|word| [&[BOS], &word[..]].concat()).collect();
    let [src, tgt, labels] = [&ended, &begun, &ended].map(|rows| Padded::new(rows, at));
    let logits = model.forward(&src, tgt.ids()).flatten::<2>(0, 1);
    let loss = CrossEntropyLossConfig::new().with_pad_tokens(Some(vec![PAD as usize])).init(at);
    loss.forward(logits, labels.ids().flatten::<1>(0, 1))
}

/// Trains with a constant learning rate, and returns the last five of the checkpoints of every tenth update.
fn train(seed: u64, device: &Device) -> Result<Vec<Transformer>> {
    device.seed(seed);
    let vocab = N_SPECIAL + N_LETTERS as usize;
    let (d_model, d_ff, n_heads, n_encoder_layers, n_decoder_layers) = (32, 64, 2, 1, 1);
    let tiny = TransformerConfig { dropout: 0.0, ..TransformerConfig::tiny(vocab, vocab) };
    let config =
        TransformerConfig { d_model, d_ff, n_heads, n_encoder_layers, n_decoder_layers, ..tiny };
    let mut model = config.init(device)?;
    let mut optimizer = AdamConfig::new().with_beta_2(0.98).init();
    let mut random = SplitMix64::new(seed);
    let mut checkpoints = Vec::new();
    for update in 1..=N_UPDATES {
        let loss = loss(&model, 32, &mut random, device);
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(5e-3, model, gradients);
        if update % 10 == 0 && update > N_UPDATES - 50 {
            checkpoints.push(model.valid());
        }
    }
    Ok(checkpoints)
}

/// Takes the parameters out of a model, in its order.
struct Take(Vec<Tensor<1>>);

impl ModuleVisitor for Take {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.push(param.val().flatten::<1>(0, D - 1));
    }
}

/// Puts others in their place, in the same order.
struct Put(std::vec::IntoIter<Tensor<1>>);

impl ModuleMapper for Put {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let next = self.0.next().expect("there is one for each parameter");
        param.map(|old| next.reshape(old.shape()))
    }
}

/// Returns the mean of models: the mean of each parameter.
fn mean(models: &[Transformer]) -> Transformer {
    let parameters = models.iter().map(|model| {
        let mut take = Take(Vec::new());
        model.visit(&mut take);
        take.0
    });
    let add =
        |a: Vec<Tensor<1>>, b: Vec<Tensor<1>>| a.into_iter().zip(b).map(|(a, b)| a + b).collect();
    let sums = parameters.reduce(add).unwrap_or_default();
    let means: Vec<_> = sums.into_iter().map(|sum| sum / models.len() as f32).collect();
    models[0].clone().map(&mut Put(means.into_iter()))
}

fn main() -> Result<()> {
    let (_, device) = device::choose(Some("flex"))?;
    let loss = |model: &Transformer| {
        loss(model, 500, &mut SplitMix64::new(9), &device).into_scalar::<f32>()
    };
    let one = train(1, &device.clone().autodiff())?;
    for (model, number) in one.iter().zip(1..) {
        println!("update {}: loss {:.3}", N_UPDATES - 50 + 10 * number, loss(model));
    }
    let (best, of_five) = (one.iter().map(loss).fold(f32::INFINITY, f32::min), loss(&mean(&one)));
    println!("mean of the five: loss {of_five:.3}");
    ensure!(of_five < best, "the mean of checkpoints is worse than the best of them");
    let other = train(2, &device.clone().autodiff())?;
    let last = [one[4].clone(), other[4].clone()];
    println!("two trainings: losses {:.3} and {:.3}", loss(&last[0]), loss(&last[1]));
    let of_two = loss(&mean(&last));
    println!("mean of the two: loss {of_two:.3}");
    ensure!(of_two > 1.0, "two trainings have learnt in the same way");
    Ok(())
}
