//! Chapter 11: a whole model learns to copy, in seconds.

use anyhow::{Context, Result};
use book::{Chart, HeatMap, Scale};
use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Int, Tensor};
use transformer_core::random::SplitMix64;
use transformer_core::text::{BOS, EOS, N_SPECIAL, PAD};
use transformer_core::{
    AttentionMaps, AttentionMasks, Padded, Transformer, TransformerConfig, device, seed_dropout,
};

const N_UPDATES: usize = 200;
const N_LETTERS: u64 = 8;

/// Draws 32 words of 2 to 6 letters: the inputs of the encoder and of the decoder, and the labels.
///
/// Words with a sum of ids that 5 divides are kept for the test: a fifth of all.
fn batch(is_test: bool, random: &mut SplitMix64, device: &Device) -> [Padded; 3] {
    let mut word = || loop {
        let len = 2 + random.below(5);
        let letter = |_| (N_SPECIAL + random.below(N_LETTERS) as usize) as u32;
        let word: Vec<u32> = (0..len).map(letter).collect();
        if (word.iter().sum::<u32>() % 5 == 0) == is_test {
            break word;
        }
    };
    let words: Vec<Vec<u32>> = (0..32).map(|_| word()).collect();
    let ended: Vec<Vec<u32>> = words.iter().map(|word| [&word[..], &[EOS]].concat()).collect();
    let begun: Vec<Vec<u32>> = words.iter().map(|word| [&[BOS], &word[..]].concat()).collect();
    [&ended, &begun, &ended].map(|rows| Padded::new(rows, device))
}

/// Returns the share of labels, without padding, that are the likeliest token of their position.
fn accuracy(model: &Transformer, [src, tgt, labels]: &[Padded; 3]) -> f32 {
    let right = model.forward(src, tgt.ids()).argmax(2).squeeze_dim::<2>(2).equal(labels.ids());
    let real = labels.ids().not_equal_elem(PAD);
    let n_right = right.bool_and(real.clone()).int().sum().into_scalar::<i64>();
    n_right as f32 / real.int().sum().into_scalar::<i64>() as f32
}

fn main() -> Result<()> {
    let (_, plain) = device::choose(Some("flex"))?;
    let device = plain.clone().autodiff();
    device.seed(1);
    seed_dropout(&device, 1);
    let vocab = N_SPECIAL + N_LETTERS as usize;
    let config = TransformerConfig {
        d_model: 32,
        d_ff: 64,
        n_heads: 2,
        n_encoder_layers: 1,
        n_decoder_layers: 1,
        dropout: 0.0,
        ..TransformerConfig::tiny(vocab, vocab)
    };
    let mut model = config.init(&device)?;
    println!("{} parameters", model.num_params());
    let mut optimizer = AdamConfig::new().with_beta_2(0.98).init();
    let loss_of =
        CrossEntropyLossConfig::new().with_pad_tokens(Some(vec![PAD as usize])).init(&device);
    let mut random = SplitMix64::new(1);
    let mut curve = Vec::new();
    for update in 1..=N_UPDATES {
        let [src, tgt, labels] = batch(false, &mut random, &device);
        let logits = model.forward(&src, tgt.ids());
        // One row of logits for each label.
        let loss = loss_of.forward(logits.flatten::<2>(0, 1), labels.ids().flatten::<1>(0, 1));
        if update % 5 == 0 {
            curve.push((update as f64, f64::from(loss.clone().into_scalar::<f32>())));
        }
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        let left = 1.0 - update as f64 / N_UPDATES as f64;
        model = optimizer.step(5e-3 * left, model, gradients);
    }
    for (update, loss) in curve.iter().skip(4).step_by(5) {
        println!("update {update}: loss {loss:.1}");
    }
    let model = model.valid();
    let test = batch(true, &mut SplitMix64::new(2), &plain);
    println!("{:.0}% of the tokens of 32 new words are right", 100.0 * accuracy(&model, &test));
    Chart::new("Learning to copy", "update", "loss, nats a token")
        .line("loss", curve)
        .save("copy-loss")?;

    // What does the decoder look at while it copies a b c d?
    let src = Padded::new(&[[4, 5, 6, 7, EOS]], &plain);
    let tgt = Tensor::<2, Int>::from_data([[BOS, 4, 5, 6, 7]], &plain);
    let mut maps = AttentionMaps::default();
    model.forward_with(&src, tgt, &AttentionMasks::default(), Some(&mut maps));
    let cross = maps.cross.first().context("one layer is recorded")?.clone();
    let mean = cross.mean_dim(1).reshape([5, 5]); // over the heads
    let (reads, source) = (["<s>", "a", "b", "c", "d"], ["a", "b", "c", "d", "</s>"]);
    let title = "Where the decoder looks, mean of two heads";
    HeatMap::new(title, Scale::Share, "decoder reads", "source")
        .panel("copying a b c d", &reads, &source, &mean)
        .save("copy-attention")
}
