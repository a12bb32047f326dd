//! Chapter 19: from two text files to translations.

use std::fs;

use anyhow::Result;
use transformer_core::device;
use transformer_core::random::SplitMix64;
use transformer_infer::Translator;
use transformer_infer::metrics::Bleu;
use transformer_train::config::Experiment;
use transformer_train::{Existing, RunEnvironment, train};

/// English, German, and the gender.
const NOUNS: &str = "dog Hund m, king König m, bird Vogel m, cat Katze f, queen Königin f, mouse Maus f, \
                     horse Pferd n, child Kind n, house Haus n";
const VERBS: &str = "sees sieht, finds findet, likes mag, paints malt, follows verfolgt";
const ADJECTIVES: &str = "small klein, big groß, black schwarz, old alt, quiet still, young jung";

/// Draws "the small dog sees a black cat", and its translation.
fn pair(random: &mut SplitMix64) -> (String, String) {
    let mut draw = |list: &'static str| -> Vec<&str> {
        let entries: Vec<&str> = list.split(", ").collect();
        entries[random.below(entries.len() as u64) as usize].split(' ').collect()
    };
    let (subject, object, verb) = (draw(NOUNS), draw(NOUNS), draw(VERBS));
    let (one, other) = (draw(ADJECTIVES), draw(ADJECTIVES));
    let [the, a] = [&subject, &object].map(|noun| match noun[2] {
        "m" => ("der", "einen", "en"),
        "f" => ("die", "eine", "e"),
        _ => ("das", "ein", "es"),
    });
    let english = ["the", one[0], subject[0], verb[0], "a", other[0], object[0]].join(" ");
    let (first, second) = (format!("{}e", one[1]), format!("{}{}", other[1], a.2));
    let german = [the.0, &first, subject[1], verb[1], a.1, &second, object[1]].join(" ");
    (english, german)
}

const SETTINGS: &str = r#"
data.src = "runs/book/train.en"
data.tgt = "runs/book/train.de"
data.valid_src = "runs/book/valid.en"
data.valid_tgt = "runs/book/valid.de"
data.src_lang = "en"
data.tgt_lang = "de"
tokenizer.vocab_size = 160
validation.length_penalty = "gnmt:0.6"
# The paper's model in small: the preset has pre-norm and a dropout of 0.2.
model.preset = "tiny"
model.norm_placement = "post"
model.final_norm = false
model.dropout = 0.1
model.d_model = 64
model.d_ff = 128
model.n_encoder_layers = 2
model.n_decoder_layers = 2
training = { updates = 400, tokens_per_batch = 1024, warmup_steps = 100, validation_interval = 200 }
"#;

fn main() -> Result<()> {
    fs::create_dir_all("runs/book")?;
    let mut random = SplitMix64::new(1);
    for (name, n) in [("train", 1500), ("valid", 50), ("test", 200)] {
        let (english, german): (Vec<_>, Vec<_>) = (0..n).map(|_| pair(&mut random)).unzip();
        fs::write(format!("runs/book/{name}.en"), english.join("\n") + "\n")?;
        fs::write(format!("runs/book/{name}.de"), german.join("\n") + "\n")?;
    }
    let (_, device) = device::choose(Some("flex"))?;
    let existing = Existing::Replace;
    let environment =
        RunEnvironment { existing, ..RunEnvironment::new("runs/book/translator", &device) };
    let outcome = train(&Experiment::from_toml_text(SETTINGS, "settings")?, &environment)?;

    let translator = Translator::open(&outcome.model, &device)?;
    let english = fs::read_to_string("runs/book/test.en")?;
    let german = fs::read_to_string("runs/book/test.de")?;
    let lines: Vec<&str> = english.lines().collect();
    let found = translator.translate(&lines)?;
    let pairs: Vec<_> = found.iter().map(|it| it.text()).zip(german.lines()).collect();
    for (line, (translation, _)) in lines.iter().zip(&pairs).take(4) {
        println!("{line} → {translation}");
    }
    let n_right = pairs.iter().filter(|(translation, reference)| translation == reference).count();
    let score = Bleu::default().corpus_score(pairs.into_iter().map(|(it, is)| (it, [is]))).score;
    println!("{n_right} of 200 test sentences are right, BLEU {score:.1}");
    Ok(())
}
