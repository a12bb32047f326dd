//! Chapter 19: from two text files to translations.

use std::fs;
use std::sync::Arc;

use anyhow::Result;
use transformer_core::device;
use transformer_core::random::SplitMix64;
use transformer_infer::Translator;
use transformer_infer::metrics::Bleu;
use transformer_train::config::Experiment;
use transformer_train::step::ranks::Ranks;
use transformer_train::{Display, Existing, Interrupt, RunEnvironment, ThreadCount, train};

/// English, and German for "the" and "a" with the endings of adjectives: as subject and as object.
const NOUNS: [(&str, &str, [&str; 2]); 9] = [
    ("dog", "Hund", M),
    ("king", "König", M),
    ("bird", "Vogel", M),
    ("cat", "Katze", F),
    ("queen", "Königin", F),
    ("mouse", "Maus", F),
    ("horse", "Pferd", N),
    ("child", "Kind", N),
    ("house", "Haus", N),
];
const M: [&str; 2] = ["der {}e", "einen {}en"];
const F: [&str; 2] = ["die {}e", "eine {}e"];
const N: [&str; 2] = ["das {}e", "ein {}es"];
const VERBS: [(&str, &str); 5] = [
    ("sees", "sieht"),
    ("finds", "findet"),
    ("likes", "mag"),
    ("paints", "malt"),
    ("follows", "verfolgt"),
];
const ADJECTIVES: [(&str, &str); 6] = [
    ("small", "klein"),
    ("big", "groß"),
    ("black", "schwarz"),
    ("old", "alt"),
    ("quiet", "still"),
    ("young", "jung"),
];

/// Draws "the small dog sees a black cat", and its translation.
fn pair(random: &mut SplitMix64) -> (String, String) {
    let mut below = |n: usize| random.below(n as u64) as usize;
    let (subject, object, verb) = (NOUNS[below(9)], NOUNS[below(9)], VERBS[below(5)]);
    let (first, second) = (ADJECTIVES[below(6)], ADJECTIVES[below(6)]);
    let english = format!("the {} {} {} a {} {}", first.0, subject.0, verb.0, second.0, object.0);
    let (nominative, accusative) =
        (subject.2[0].replace("{}", first.1), object.2[1].replace("{}", second.1));
    (english, format!("{nominative} {} {} {accusative} {}", subject.1, verb.1, object.1))
}

const SETTINGS: &str = r#"
[data]
src = "runs/book/train.en"
tgt = "runs/book/train.de"
valid_src = "runs/book/valid.en"
valid_tgt = "runs/book/valid.de"

[tokenizer]
vocab_size = 160

[model]
preset = "tiny"
d_model = 64
d_ff = 128
n_encoder_layers = 2
n_decoder_layers = 2

[training]
updates = 400
tokens_per_batch = 1024
warmup_steps = 100
validation_interval = 200
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
    let environment = RunEnvironment {
        directory: "runs/book/translator".into(),
        existing: Existing::Replace,
        device: device.clone(),
        more_devices: Vec::new(),
        ranks: Ranks::default(),
        threads: ThreadCount::Exactly(1),
        log: Arc::new(|_| ()),
        display: Display::Lines,
        status: None,
        interrupt: Interrupt::default(),
    };
    let outcome = train(&Experiment::from_toml_text(SETTINGS, "settings")?, &environment)?;

    let translator = Translator::open(&outcome.model, &device)?;
    let [english, german] =
        ["en", "de"].map(|side| fs::read_to_string(format!("runs/book/test.{side}")));
    let (english, german) = (english?, german?);
    let lines: Vec<&str> = english.lines().collect();
    let translations = translator.translate(&lines, translator.search())?;
    for (line, translation) in lines.iter().zip(&translations).take(4) {
        println!("{line} → {}", translation.text());
    }
    let pairs = translations
        .iter()
        .zip(german.lines())
        .map(|(found, reference)| (found.text(), [reference]));
    println!("BLEU {:.0} on 200 test sentences", Bleu::default().corpus_score(pairs).score);
    Ok(())
}
