//! `cargo run -p examples --example parse`: finds the grammatical structure of sentences, as translation.
//!
//! Vinyals et al. 2015, "Grammar as a Foreign Language", and §6.3 of the paper: the target is the sentence's
//! tree, written as brackets. Sentences come from a small grammar with recursion
//! (relative clauses inside of relative clauses, places inside of places), and every one has one tree.

#![expect(clippy::print_stdout, reason = "an example shows what comes out")]

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::{env, fs, thread};

use anyhow::{Context, Result};
use transformer_core::device;
use transformer_core::random::hash;
use transformer_core::text::TokenizerKind;
use transformer_infer::search::Search;
use transformer_infer::{Translator, allocator};
use transformer_train::config::{DataSettings, Experiment, TokenizerSettings, TrainingSettings};
use transformer_train::tasks::Task;
use transformer_train::{Display, Existing, Interrupt, RunEnvironment, ThreadCount, train};

const SEED: u64 = 1;
const N_UPDATES: u64 = 2000;
/// Pairs to train on, to validate on and to test on.
const N_PAIRS: [usize; 3] = [40_000, 300, 500];
const FOLDER: &str = "runs/parse";

/// Longest sentence, in words.
const MAX_WORDS: usize = 20;

/// What stands for what, in one of the ways between the strokes; names of phrases are in capitals, and what is
/// behind a slash says which kind of phrase it is.
///
/// A noun has one place or clause behind it at most: in "the dog near the house that slept" the house slept.
/// A time belongs to the last verb before it, so that none stands behind an object that ends with a clause
/// (`NP/plain` does not). Therefore every sentence has one tree.
const GRAMMAR: &str = "
S         = NP VP
NP        = the noun | the old noun | the noun PP | the old noun PP | the noun SBAR | the old noun SBAR
NP/plain  = the noun | the old noun | the noun PP/plain | the old noun PP/plain
PP        = near NP
PP/plain  = near NP/plain
SBAR      = that VP | that NP VP/gap
VP        = saw NP | slept | saw NP/plain PP/time | slept PP/time
VP/gap    = saw
PP/time   = after NP/time
NP/time   = the storm
the       = the | a | this | every
old       = old | young | small | green | quiet | happy
noun      = dog | cat | king | queen | farmer | bird | house | park | tree | river | boat | hill
near      = near | behind | under | beside
that      = that
saw       = saw | liked | followed | found | painted | remembered
slept     = slept | sang | waited | laughed
after     = after | before | during
storm     = storm | dance | war | party | lunch
";

fn main() -> Result<()> {
    allocator::keep_freed_memory();
    let requested = env::var("BURN_DEVICE").ok();
    let (backend, device) = device::choose(requested.as_deref())?;
    println!("backend {backend}");
    let [train_pairs, valid_pairs, test] = pairs();
    fs::create_dir_all(FOLDER).with_context(|| format!("cannot create `{FOLDER}`"))?;
    let [tsv, valid_tsv] = ["train.tsv", "valid.tsv"].map(|name| Path::new(FOLDER).join(name));
    write_tsv(&tsv, &train_pairs)?;
    write_tsv(&valid_tsv, &valid_pairs)?;

    // What a built-in task is learnt with, but for data and vocabularies.
    let settings = Experiment::for_task(Task::Reverse);
    let experiment = Experiment {
        data: DataSettings {
            tsv: Some(tsv),
            valid_tsv: Some(valid_tsv),
            ..DataSettings::default()
        },
        tokenizer: TokenizerSettings {
            kind: TokenizerKind::Word,
            ..TokenizerSettings::default()
        },
        training: TrainingSettings {
            updates: N_UPDATES,
            learning_rate_factor: 0.3,
            ..settings.training.clone()
        },
        ..settings
    };
    let n_cores = thread::available_parallelism().map_or(1, usize::from);
    let environment = RunEnvironment {
        directory: FOLDER.into(),
        existing: Existing::Resume,
        threads: ThreadCount::Suggested(n_cores),
        device: device.clone(),
        more_devices: Vec::new(),
        log: Arc::new(|line| println!("{line}")),
        display: Display::Lines,
        status: None,
        interrupt: Interrupt::default(),
    };
    let outcome = train(&experiment, &environment)?;

    let translator = Translator::open(&outcome.model, &device)?;
    let sentences: Vec<&String> = test.iter().map(|(sentence, _)| sentence).collect();
    let found = translator.translate(&sentences, &Search::greedy())?;
    let mut n_right = 0;
    for (number, ((sentence, tree), found)) in test.iter().zip(&found).enumerate() {
        let is_right = found.text() == tree;
        n_right += usize::from(is_right);
        if number < 4 || !is_right {
            println!("\n{sentence}");
            let verdict = if is_right { "right" } else { "WRONG" };
            println!("  {verdict}  {}", readable(found.text()));
        }
    }
    println!(
        "\n{n_right} of {} held-out sentences have exactly the right tree",
        test.len()
    );
    Ok(())
}

fn write_tsv(path: &Path, pairs: &[(String, String)]) -> Result<()> {
    let lines = pairs
        .iter()
        .map(|(sentence, tree)| format!("{sentence}\t{tree}\n"));
    fs::write(path, lines.collect::<String>())
        .with_context(|| format!("cannot write `{}`", path.display()))
}

/// Makes sentences and trees; a hash of the sentence says which part it is in, so that none is in two.
fn pairs() -> [Vec<(String, String)>; 3] {
    let mut parts: [Vec<(String, String)>; 3] = Default::default();
    let mut seen = HashSet::new();
    for number in 0.. {
        let mut writer = Writer {
            seed: hash(SEED, number),
            ..Writer::default()
        };
        writer.write("S");
        let sentence = writer.words.join(" ");
        let content = sentence
            .bytes()
            .fold(0, |content, byte| hash(content, u64::from(byte)));
        let part = [1, 2].get(content as usize % 20).copied().unwrap_or(0);
        let is_wanted = parts[part].len() < N_PAIRS[part] && writer.words.len() <= MAX_WORDS;
        if is_wanted && seen.insert(sentence.clone()) {
            parts[part].push((sentence, writer.tree.join(" ")));
        } else if parts
            .iter()
            .zip(N_PAIRS)
            .all(|(part, n_pairs)| part.len() == n_pairs)
        {
            break;
        }
    }
    parts
}

/// Writes a sentence and its tree at the same time, from left to right.
#[derive(Default)]
struct Writer {
    seed: u64,
    n_drawn: u64,
    words: Vec<&'static str>,
    tree: Vec<String>,
}

impl Writer {
    /// Writes a word, or a phrase between brackets, of which the closing one bears its name too.
    fn write(&mut self, symbol: &str) {
        let rules = GRAMMAR.lines().filter_map(|line| line.split_once('='));
        let ways = rules.filter(|(name, _)| name.trim() == symbol);
        let ways: Vec<_> = ways.flat_map(|(_, ways)| ways.split('|')).collect();
        self.n_drawn += 1;
        let way = ways[hash(self.seed, self.n_drawn) as usize % ways.len()].trim();
        if symbol.starts_with(char::is_lowercase) {
            self.words.push(way);
            self.tree.push(way.to_owned());
        } else {
            let name = symbol.split('/').next().unwrap_or(symbol);
            self.tree.push(format!("({name}"));
            way.split(' ').for_each(|part| self.write(part));
            self.tree.push(format!("){name}"));
        }
    }
}

/// Takes the names off the closing brackets, which are for the model.
fn readable(tree: &str) -> String {
    let tokens = tree.split(' ').map(|token| match token.starts_with(')') {
        true => ")",
        false => token,
    });
    tokens.collect::<Vec<_>>().join(" ").replace(" )", ")")
}
