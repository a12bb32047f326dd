//! Chapter 8: the decoder reads the answer, one position late (§3.1, teacher forcing).

use std::slice;

use anyhow::{Context, Result};
use book::{HeatMap, Scale, values};
use burn::tensor::{Int, Tensor};
use transformer_core::text::{BOS, EOS, Tokenizer, TokenizerConfig, TokenizerKind};
use transformer_core::{AttentionMaps, AttentionMasks, Padded, TransformerConfig, device};

fn main() -> Result<()> {
    let words = TokenizerConfig { kind: TokenizerKind::Word, ..TokenizerConfig::default() };
    let tokenizer = Tokenizer::train(&words, ["a dog runs", "ein Hund läuft"])?;
    let vocab = tokenizer.vocab_size();
    let text = |id: u32| tokenizer.token(id).unwrap_or_default();

    let src = [tokenizer.encode("a dog runs"), vec![EOS]].concat();
    let answer = tokenizer.encode("ein Hund läuft");
    let inputs = [vec![BOS], answer.clone()].concat(); // shifted right
    let labels = [answer, vec![EOS]].concat();
    println!("position  reads    must predict");
    for (position, (input, label)) in inputs.iter().zip(&labels).enumerate() {
        println!("{position:>8}  {:<8} {}", text(*input), text(*label));
    }

    let (_, device) = device::choose(Some("flex"))?;
    device.seed(1);
    let config = TransformerConfig {
        d_model: 16,
        d_ff: 32,
        n_encoder_layers: 2,
        n_decoder_layers: 2,
        ..TransformerConfig::tiny(vocab, vocab)
    };
    let model = config.init(&device)?;
    let batch = Padded::new(&[src], &device);
    let tgt = Padded::new(slice::from_ref(&inputs), &device);
    let memory = model.encode(&batch);
    println!("\nmemory {:?}: batch, src_len, d_model", memory.states().dims());

    // Training: all positions at once. The decoder adds its causal mask itself.
    let mut maps = AttentionMaps::default();
    let logits = model.forward_with(&batch, tgt.ids(), &AttentionMasks::default(), Some(&mut maps));
    println!("logits {:?}: batch, tgt_len, vocab", logits.dims());

    // Generation: one position after the other, through the same layers.
    let mut state = model.begin(&memory);
    for (position, input) in inputs.iter().enumerate() {
        let one = model.decode(Tensor::<2, Int>::full([1, 1], *input, &device), &mut state);
        let difference = (one - logits.clone().narrow(1, position, 1)).abs().max();
        println!("position {position} alone differs by {:.3}", difference.into_scalar::<f32>());
    }

    // The loss: how surprised the model is by each label. Untrained, it is above that of a blind guess.
    let log_probs = values(&model.log_probs(&batch, tgt.ids())); // [1, tgt_len, vocab]
    let losses =
        labels.iter().zip(log_probs.chunks(vocab)).map(|(label, row)| -row[*label as usize]);
    let loss = losses.sum::<f32>() / labels.len() as f32;
    println!(
        "loss {loss:.2} nats a token; a blind guess has ln {vocab} = {:.2}",
        (vocab as f32).ln()
    );

    let reads: Vec<String> = inputs.iter().map(|id| text(*id)).collect();
    let map = maps.decoder.first().context("two layers are recorded")?.clone();
    let map = map.narrow(1, 0, 1).reshape([4, 4]);
    let cross = maps.cross.first().context("two layers are recorded")?.clone();
    let cross = cross.narrow(1, 0, 1).reshape([4, 4]);
    HeatMap::new(
        "What head 1 of the first decoder layer attends to, untrained",
        Scale::Share,
        "decoder reads",
        "key",
    )
    .cells(52.0, 30.0)
    .panel("itself, without the future", &reads, &reads, &map)
    .panel("the memory", &reads, &["a", "dog", "runs", "</s>"], &cross)
    .save("decoder")
}
