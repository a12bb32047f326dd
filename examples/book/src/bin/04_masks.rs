//! Chapter 4: the keys that a query may see (§3.2.3).

use anyhow::{Context, Result};
use book::{HeatMap, Scale, table, values};
use burn::tensor::{Distribution, Tensor};
use transformer_core::model::{AttentionConfig, MultiHeadAttention};
use transformer_core::{Mask, Padded, device};

const TOKENS: [&str; 5] = ["a", "dog", "runs", "pad", "pad"];
const LEN: usize = TOKENS.len();

/// Returns the weights of the batch's second sentence, and the outputs of both.
fn attend(
    attention: &MultiHeadAttention,
    x: &Tensor<3>,
    mask: Option<&Mask>,
) -> (Tensor<2>, Tensor<3>) {
    let keys_values = attention.keys_values(x.clone());
    let (output, weights) = attention.attend_with_weights(x.clone(), keys_values, mask);
    (weights.narrow(0, 1, 1).reshape([LEN, LEN]), output)
}

fn main() -> Result<()> {
    let (_, device) = device::choose(Some("flex"))?;
    device.seed(3);
    let batch = Padded::new(&[vec![4, 5, 6, 7, 8], vec![4, 5, 6]], &device);
    let padding = Mask::padding(batch.mask().context("the second sentence is padded")?);
    let causal = Mask::causal(0, LEN, &device).context("five tokens have a future")?;
    let both = causal.clone().and(padding.clone());

    let attention = AttentionConfig::new(8, 1).init(&device); // 8 features, 1 head (chapter 5)
    let x = Tensor::<3>::random([2, LEN, 8], Distribution::Normal(0.0, 1.0), &device);
    let mut picture = HeatMap::new("Weights under masks", Scale::Share, "query", "key");
    for (name, mask) in [
        ("no mask", None),
        ("padding", Some(&padding)),
        ("causal", Some(&causal)),
        ("both", Some(&both)),
    ] {
        let (weights, _) = attend(&attention, &x, mask);
        table(name, &TOKENS, &TOKENS, &weights);
        println!();
        picture = picture.panel(name, &TOKENS, &TOKENS, &weights);
    }
    picture.cells(38.0, 30.0).save("masks")?;

    // PyTorch's float mask: −∞ is added to the scores of hidden keys.
    let hidden = causal.hidden_keys().context("it hides the future")?;
    let bias = Tensor::<4>::zeros([1, 1, LEN, LEN], &device).mask_fill(hidden, f32::NEG_INFINITY);
    let (weights, output) = attend(&attention, &x, Some(&causal));
    let (added, _) = attend(&attention, &x, Some(&Mask::additive(bias)));
    println!("boolean − additive: {:.3}", (weights - added).abs().max().into_scalar::<f32>());

    // A different last token changes nothing before it.
    let other = Tensor::<3>::random([2, 1, 8], Distribution::Normal(0.0, 1.0), &device);
    let changed = Tensor::cat(vec![x.narrow(1, 0, LEN - 1), other], 1);
    let (_, changed) = attend(&attention, &changed, Some(&causal));
    for position in 0..LEN {
        let difference = (output.clone() - changed.clone()).narrow(1, position, 1);
        let changed = values(&difference).into_iter().filter(|change| *change != 0.0).count();
        let most = difference.abs().max().into_scalar::<f32>();
        println!("position {position}: {changed:>2} of 16 features changed, by {most:.3} at most");
    }
    Ok(())
}
