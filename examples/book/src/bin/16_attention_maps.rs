//! Chapter 16: what does a pronoun mean? An encoder learns it, and its attention shows how.

use anyhow::{Context, Result};
use book::{HeatMap, Scale, values};
use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Int, Tensor, TensorData};
use transformer_core::model::{Encoder, PositionalEncoding, VocabularyMatrix};
use transformer_core::random::SplitMix64;
use transformer_core::{TransformerConfig, device};

const WORDS: [&str; 19] = [
    "", "", "", "", "dog", "cat", "horse", "bird", "road", "wall", "box", "river", "the", "passed",
    "because", "he", "it", "was", "old",
];
const LEN: usize = 9;
const PRONOUN: usize = 6;

/// Makes "the A passed the B because he was old", and returns also what the pronoun means: an animal is "he", a
/// thing is "it".
fn sentence(random: &mut SplitMix64) -> ([i32; LEN], i32) {
    let mut draw = |from: i32, n: u64| from + random.below(n) as i32;
    let (animal, thing) = (draw(4, 4), draw(8, 4));
    let (first, second) = if draw(0, 2) == 0 { (animal, thing) } else { (thing, animal) };
    let (pronoun, referent) = if draw(0, 2) == 0 { (15, animal) } else { (16, thing) };
    ([12, first, 13, 12, second, 14, pronoun, 17, 18], referent)
}

/// An encoder that names a word for every position.
#[derive(Module, Debug)]
struct Reader {
    vocabulary: VocabularyMatrix,
    positions: PositionalEncoding,
    encoder: Encoder,
}

impl Reader {
    /// Returns the logits of what the pronouns mean, and the attention weights of every layer.
    fn read(&self, ids: Tensor<2, Int>) -> (Tensor<2>, Vec<Tensor<4>>) {
        let device = ids.device();
        let x = self.vocabulary.embed(ids); // [batch, len, d_model]
        let positions = self.positions.forward(0, LEN, &device).map(Tensor::unsqueeze);
        let x = positions.map_or(x.clone(), |positions| x + positions);
        let (x, maps) = self.encoder.forward_with_weights(x, None);
        (self.vocabulary.logits(x.narrow(1, PRONOUN, 1)).squeeze_dim(1), maps)
    }
}

fn batch(random: &mut SplitMix64, n: usize, device: &Device) -> (Tensor<2, Int>, Tensor<1, Int>) {
    let (ids, referents): (Vec<_>, Vec<_>) = (0..n).map(|_| sentence(random)).unzip();
    let ids = TensorData::new(ids.concat(), [n, LEN]);
    (Tensor::from_data(ids, device), Tensor::from_data(&referents[..], device))
}

fn train(n_layers: usize, device: &Device) -> Result<Reader> {
    device.seed(2);
    let config = TransformerConfig {
        d_model: 32,
        d_ff: 64,
        n_heads: 1,
        n_encoder_layers: n_layers,
        dropout: 0.0,
        ..TransformerConfig::tiny(19, 19)
    };
    let mut reader = Reader {
        vocabulary: VocabularyMatrix::init(19, &config, device)?,
        positions: PositionalEncoding::init(&config, device)?,
        encoder: Encoder::init(&config, device)?,
    };
    let mut optimizer = AdamConfig::new().with_beta_2(0.98).init();
    let loss_of = CrossEntropyLossConfig::new().init(device);
    let mut random = SplitMix64::new(1);
    for update in 0..700 {
        let (ids, referents) = batch(&mut random, 64, device);
        let loss = loss_of.forward(reader.read(ids).0, referents);
        let gradients = GradientsParams::from_grads(loss.backward(), &reader);
        reader = optimizer.step(1e-3 * (1.0 - f64::from(update) / 700.0), reader, gradients);
    }
    Ok(reader.valid())
}

fn main() -> Result<()> {
    let (_, device) = device::choose(Some("flex"))?;
    let mut picture = HeatMap::new("What each word attends to", Scale::Share, "query", "key");
    for n_layers in [1, 2] {
        let reader = train(n_layers, &device.clone().autodiff())?;
        let (ids, referents) = batch(&mut SplitMix64::new(2), 200, &device);
        let right = reader.read(ids).0.argmax(1).squeeze_dim::<1>(1).equal(referents);
        let n_right = right.int().sum().into_scalar::<i64>();
        println!("layers: {n_layers}; {n_right} of 200 new sentences are understood");

        let sentences = [15, 16].map(|pronoun| [12, 4, 13, 12, 8, 14, pronoun, 17, 18]);
        let (_, maps) = reader.read(Tensor::from_data(sentences, &device));
        let last = maps.last().context("there is a layer")?;
        for (row, ids) in sentences.into_iter().enumerate() {
            let words = ids.map(|id| WORDS[id as usize]);
            let map = last.clone().narrow(0, row, 1).reshape([LEN, LEN]);
            let weights = values(&map.clone().narrow(0, PRONOUN, 1));
            let best = (0..LEN).max_by(|a, b| weights[*a].total_cmp(&weights[*b])).unwrap_or(0);
            let (pronoun, best, weight) = (words[PRONOUN], words[best], weights[best]);
            println!("  {}: `{pronoun}` → `{best}` {weight:.2}", words.join(" "));
            if n_layers == 1 {
                picture = picture.panel(words[PRONOUN], &words, &words, &map);
            }
        }
    }
    picture.save("pronouns")
}
