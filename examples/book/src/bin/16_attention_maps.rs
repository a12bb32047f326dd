//! Chapter 16: an encoder learns the meaning of a pronoun, and its attention shows how.

use anyhow::{Context, Result};
use book::{HeatMap, Scale, values};
use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Int, Tensor, TensorData};
use transformer_core::model::LanguageModel;
use transformer_core::random::SplitMix64;
use transformer_core::{TransformerConfig, device};

const WORDS: &str =
    "<pad> <unk> <s> </s> dog cat horse bird road wall box river the passed because he it was old";
const LEN: usize = 9;
const PRONOUN: usize = 6;
const N_UPDATES: u32 = 700;

/// Makes "the A passed the B because he was old", and the id of the noun that the pronoun means: an animal is "he", a
/// thing "it".
///
/// Four pairs, "dog" with "road" and so on, are kept for the test.
fn sentence(is_test: bool, random: &mut SplitMix64) -> ([i32; LEN], i32) {
    let mut draw = |from: i32, n: u64| from + random.below(n) as i32;
    let animal = draw(4, 4);
    let apart = if is_test { 0 } else { draw(1, 3) };
    let thing = 8 + (animal + apart) % 4;
    let (first, second) = if draw(0, 2) == 0 { (animal, thing) } else { (thing, animal) };
    let (pronoun, referent) = if draw(0, 2) == 0 { (15, animal) } else { (16, thing) };
    ([12, first, 13, 12, second, 14, pronoun, 17, 18], referent)
}

fn batch(
    n: usize,
    is_test: bool,
    random: &mut SplitMix64,
    device: &Device,
) -> (Tensor<2, Int>, Tensor<1, Int>) {
    let (ids, referents): (Vec<_>, Vec<_>) = (0..n).map(|_| sentence(is_test, random)).unzip();
    let ids = TensorData::new(ids.concat(), [n, LEN]);
    (Tensor::from_data(ids, device), Tensor::from_data(&referents[..], device))
}

/// Returns the logits of the pronouns' meanings, and the attention weights of every layer.
fn read(model: &LanguageModel, ids: Tensor<2, Int>) -> (Tensor<2>, Vec<Tensor<4>>) {
    let (logits, weights) = model.forward_with_weights(ids, None);
    (logits.narrow(1, PRONOUN, 1).squeeze_dim(1), weights)
}

fn train(n_encoder_layers: usize, device: &Device) -> Result<LanguageModel> {
    device.seed(2);
    let tiny = TransformerConfig::tiny(19, 19);
    let (d_model, d_ff, n_heads, dropout) = (32, 64, 1, 0.0);
    let config = TransformerConfig { d_model, d_ff, n_heads, n_encoder_layers, dropout, ..tiny };
    let mut model = LanguageModel::init(19, &config, device)?;
    let mut optimizer = AdamConfig::new().with_beta_2(0.98).init();
    let loss_of = CrossEntropyLossConfig::new().init(device);
    let mut random = SplitMix64::new(1);
    for update in 0..N_UPDATES {
        let (ids, referents) = batch(64, false, &mut random, device);
        let loss = loss_of.forward(read(&model, ids).0, referents);
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        let left = 1.0 - f64::from(update) / f64::from(N_UPDATES);
        model = optimizer.step(1e-3 * left, model, gradients);
    }
    Ok(model.valid())
}

fn main() -> Result<()> {
    let (_, device) = device::choose(Some("flex"))?;
    let vocabulary: Vec<&str> = WORDS.split(' ').collect();
    let mut picture = HeatMap::new("What each word attends to", Scale::Share, "query", "key");
    for n_layers in [1, 2] {
        let model = train(n_layers, &device.clone().autodiff())?;
        let (ids, referents) = batch(200, true, &mut SplitMix64::new(2), &device);
        let right = read(&model, ids).0.argmax(1).squeeze_dim::<1>(1).equal(referents);
        let n_right = right.int().sum().into_scalar::<i64>();
        println!("layers: {n_layers}; {n_right} of 200 sentences with new pairs are understood");
        for pronoun in [15, 16] {
            let ids = [12, 4, 13, 12, 8, 14, pronoun, 17, 18];
            let words = ids.map(|id| vocabulary[id as usize]);
            let (_, maps) = read(&model, Tensor::from_data([ids], &device));
            let map = maps.last().context("there is a layer")?.clone().reshape([LEN, LEN]);
            let weights = values(&map.clone().narrow(0, PRONOUN, 1));
            let best = (0..LEN).max_by(|a, b| weights[*a].total_cmp(&weights[*b])).unwrap_or(0);
            let (pronoun, best, weight) = (words[PRONOUN], words[best], weights[best]);
            println!("  {}: `{pronoun}` → `{best}` {weight:.2}", words.join(" "));
            if n_layers == 1 {
                picture = picture.panel(pronoun, &words, &words, &map);
            }
        }
    }
    picture.save("pronouns")
}
