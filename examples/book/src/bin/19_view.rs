//! Chapter 19, part 2: the attention of the translator, and the ranking of its search. `19_translator` trains it.

use anyhow::{Context, Result};
use book::{HeatMap, Scale, SearchTree, save_data};
use burn::tensor::{Tensor, TensorData};
use transformer_core::device;
use transformer_infer::attention::{Selection, Token, page_data};
use transformer_infer::search::{Recorder, Request, Search, beam_search};
use transformer_infer::{OpenOptions, Scorer, Translator};

/// Two pairs that differ in the nouns: their genders change the German words around them.
const LINES: [&str; 4] = [
    "the small horse sees a black cat",
    "the small cat sees a black horse",
    "the old king likes a young queen",
    "the old queen likes a young king",
];

fn main() -> Result<()> {
    let (_, device) = device::choose(Some("flex"))?;
    // Attention is recorded by the model as modules, which also computes the values for training.
    let options = OpenOptions { as_module: true, ..OpenOptions::default() };
    let translator = Translator::open_ensemble(&["runs/book/translator"], &device, &options)
        .context("there is no translator yet; run `19_translator` first")?;

    let mut maps = Vec::new();
    let title = "Cross-attention, layer 2, head 2";
    let mut picture = HeatMap::new(title, Scale::Share, "writes", "source").cells(52.0, 26.0);
    for (line, found) in LINES.iter().zip(translator.translate(&LINES)?) {
        println!("{line} → {}", found.text());
        let attention = translator.attention(line, &found.candidates[0].hypothesis)?;
        maps.push(page_data(&attention, Selection::default())?);
        if maps.len() <= 2 {
            let words = |tokens: &[Token]| -> Vec<String> {
                tokens.iter().map(|token| token.text.replace('▁', "")).collect()
            };
            let (tgt, src) = (words(&attention.tgt_tokens), words(&attention.src_tokens));
            let weights = TensorData::new(attention.cross[1][1].concat(), [tgt.len(), src.len()]);
            picture = picture.panel(line, &tgt, &src, &Tensor::from_data(weights, &device));
        }
    }
    picture.save("translator")?;
    save_data("attention", &format!("[\n{}]", maps.join(",\n")))?;

    // A search with a beam of 3, step by step.
    let ids = translator.tokenizers().src().encode(LINES[0]);
    let mut model = Recorder::new(Scorer::new(translator.model()?, &[ids]));
    let search = Search { beam_size: 3, n_best: 3, ..translator.search().clone() };
    let found = beam_search(&mut model, &[Request::up_to(30)], &search).remove(0);
    let tokenizer = translator.tokenizers().tgt();
    println!("beam of 3: {}", tokenizer.decode(&found[0].ids));
    let text =
        |id| tokenizer.token(id).unwrap_or_default().replace('▁', " ").replace("</s>", " </s>");
    SearchTree::new(LINES[0], model.steps(), 3, &found, text).save_data("translation")
}
