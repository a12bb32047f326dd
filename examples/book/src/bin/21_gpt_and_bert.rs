//! Chapter 21: a decoder alone writes, an encoder alone reads: GPT and BERT from one struct.

use anyhow::Result;
use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Int, Tensor, TensorData};
use transformer_core::model::LanguageModel;
use transformer_core::random::SplitMix64;
use transformer_core::{Mask, TransformerConfig, device};

const LEN: usize = 8;
/// The vocabulary: 26 letters, and the gap that BERT fills.
const TOKENS: &str = "abcdefghijklmnopqrstuvwxyz_";
const GAP: i64 = 26;
const N_UPDATES: u32 = 1000;
/// An input, and its labels.
type Example = (Vec<i64>, Vec<i64>);

fn read(text: &str) -> Vec<i64> {
    text.chars().filter_map(|it| TOKENS.find(it)).map(|id| id as i64).collect()
}

fn write(ids: &[i64]) -> String {
    ids.iter().map(|id| &TOKENS[*id as usize..][..1]).collect()
}

fn tensor(rows: &[Vec<i64>], device: &Device) -> Tensor<2, Int> {
    Tensor::from_data(TensorData::new(rows.concat(), [rows.len(), rows[0].len()]), device)
}

/// Returns the likeliest token at a position of a text.
fn likeliest(model: &LanguageModel, ids: &[i64], at: usize, mask: Option<Mask>) -> i64 {
    let device = &model.devices()[0];
    let logits = model.forward(tensor(&[ids.to_vec()], device), mask);
    logits.narrow(1, at, 1).argmax(2).into_scalar::<i64>()
}

/// Trains a model; `example` makes an input and its labels of a text and a random number.
fn train(
    device: &Device,
    is_causal: bool,
    example: fn(&[i64], usize) -> Example,
) -> Result<LanguageModel> {
    device.seed(1);
    let tiny = TransformerConfig::tiny(27, 27);
    let (d_model, d_ff, n_heads, dropout) = (32, 64, 2, 0.0);
    let config = TransformerConfig { d_model, d_ff, n_heads, n_encoder_layers: 2, dropout, ..tiny };
    let mut model = LanguageModel::init(27, &config, device)?;
    let mut optimizer = AdamConfig::new().with_beta_2(0.98).init();
    let no_loss = Some(vec![GAP as usize]); // a label of GAP counts for nothing
    let loss_of = CrossEntropyLossConfig::new().with_pad_tokens(no_loss).init(device);
    let mut random = SplitMix64::new(1);
    for update in 0..N_UPDATES {
        // A piece of the alphabet, which starts over after z, in steps of one or two letters.
        let mut draw = |n: u64| random.below(n) as i64;
        let examples = (0..32).map(|_| {
            let (start, step) = (draw(26), 1 + draw(2));
            let text: Vec<i64> = (0..=LEN as i64).map(|at| (start + at * step) % 26).collect();
            example(&text, draw(LEN as u64) as usize)
        });
        let (inputs, labels): (Vec<_>, Vec<_>) = examples.unzip();
        let mask = if is_causal { Mask::causal(0, LEN, device) } else { None };
        let logits = model.forward(tensor(&inputs, device), mask).reshape([32 * LEN, 27]);
        let loss = loss_of.forward(logits, tensor(&labels, device).reshape([32 * LEN]));
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        let left = 1.0 - f64::from(update) / f64::from(N_UPDATES);
        model = optimizer.step(5e-3 * left, model, gradients);
    }
    Ok(model.valid())
}

fn main() -> Result<()> {
    let (_, device) = device::choose(Some("flex"))?;
    // GPT predicts each next letter, and sees only those before it.
    let next = |text: &[i64], _| (text[..LEN].to_vec(), text[1..].to_vec());
    let gpt = train(&device.clone().autodiff(), true, next)?;
    println!("GPT, {} parameters", gpt.num_params());
    for start in ["abc", "ace", "xzb"] {
        let mut ids = read(start);
        while ids.len() < LEN {
            let mask = Mask::causal(0, ids.len(), &device);
            ids.push(likeliest(&gpt, &ids, ids.len() - 1, mask));
        }
        println!("  {start} → {}", write(&ids));
    }
    // BERT fills gaps, and sees both sides.
    let fill = |text: &[i64], gap: usize| {
        let (mut input, mut label) = (text[..LEN].to_vec(), vec![GAP; LEN]);
        (input[gap], label[gap]) = (GAP, text[gap]);
        (input, label)
    };
    let bert = train(&device.clone().autodiff(), false, fill)?;
    println!("BERT, {} parameters", bert.num_params());
    for line in ["_bcdefgh", "ac_gikmo", "abcd_fgh"] {
        let gap = line.find('_').unwrap_or(0);
        println!("  {line} → {}", write(&[likeliest(&bert, &read(line), gap, None)]));
    }
    Ok(())
}
