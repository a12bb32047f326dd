//! Chapter 1: from text to ids, and from ids to vectors.

use anyhow::Result;
use book::{HeatMap, Scale, show};
use transformer_core::model::VocabularyMatrix;
use transformer_core::text::{EOS, Tokenizer, TokenizerConfig, TokenizerKind};
use transformer_core::{Padded, TransformerConfig, device};

const D_MODEL: usize = 6;

fn main() -> Result<()> {
    // A vocabulary is learnt from text: here it is simply the words.
    let words = TokenizerConfig { kind: TokenizerKind::Word, ..TokenizerConfig::default() };
    let tokenizer = Tokenizer::train(&words, ["the dog runs", "the dog sleeps", "a cat sleeps"])?;
    let vocab = tokenizer.vocab_size();
    let tokens: Vec<String> = (0..vocab as u32).filter_map(|id| tokenizer.token(id)).collect();
    for (id, token) in tokens.iter().enumerate() {
        println!("{id:>2} {token}");
    }

    // A sentence is a list of ids; EOS ends it.
    let mut ids = tokenizer.encode("the dog sleeps");
    ids.push(EOS);
    println!("\nthe dog sleeps → {ids:?} → {}", tokenizer.decode(&ids));
    let unknown = tokenizer.encode("the wolf sleeps");
    println!("the wolf sleeps → {unknown:?} → {}\n", tokenizer.decode(&unknown));

    // An embedding is a matrix with one row for each token, and √d_model its factor.
    let (_, device) = device::choose(Some("flex"))?;
    device.seed(4);
    let config =
        TransformerConfig { d_model: D_MODEL, n_heads: 1, ..TransformerConfig::tiny(vocab, vocab) };
    let vocabulary = VocabularyMatrix::init(vocab, &config, &device)?;
    show("matrix", &vocabulary.weight());
    let x = vocabulary.embed(Padded::new(&[ids], &device).ids()); // [batch, len, d_model]
    show("\nembedded sentence", &x);

    // The way back (§3.4): the dot product with every row. The row of the token itself is the largest.
    let likeliest = vocabulary.logits(x).argmax(2).into_data();
    let likeliest: Vec<u32> = likeliest.iter::<u32>().collect();
    println!("\nback: {likeliest:?}");

    let features: Vec<String> = (0..D_MODEL).map(|feature| feature.to_string()).collect();
    HeatMap::new("One row for each token", Scale::Signed, "token", "feature")
        .panel("the embedding matrix", &tokens, &features, &vocabulary.weight())
        .save("embeddings")
}
