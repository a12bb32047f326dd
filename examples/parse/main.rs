//! `cargo run -p examples --example parse`: parses sentences by translating them to trees.
//!
//! Vinyals et al. 2015, "Grammar as a Foreign Language", and §6.3 of the paper: the target is the sentence's
//! tree, written with brackets. Sentences come from a small recursive grammar (relative clauses inside
//! relative clauses, locations inside locations), and each has exactly one tree.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::{env, fs, thread};

use anyhow::{Context, Result};
use transformer_core::device;
use transformer_core::random::hash;
use transformer_core::text::TokenizerKind;
use transformer_infer::Translator;
use transformer_infer::allocator;
use transformer_infer::search::Search;
use transformer_train::config::{DataSettings, Experiment, TokenizerSettings, TrainingSettings};
use transformer_train::tasks::Task;
use transformer_train::{RunEnvironment, ThreadCount, train};

const SEED: u64 = 1;
const N_UPDATES: u64 = 2000;
/// Pairs for training, validation and test.
const N_PAIRS: [usize; 3] = [40_000, 300, 500];
const FOLDER: &str = "runs/parse";

/// Maximum length of a sentence, in words.
const MAX_WORDS: usize = 20;

/// The grammar: a symbol, and its productions between `|`. Phrases are in capitals; the part after a slash is the
/// kind of the phrase and is not part of the tree.
///
/// A noun is followed by at most one location or clause: in "the dog near the house that slept" the house slept.
/// A time belongs to the last verb before it, so it never follows an object that ends with a clause
/// (`NP/plain` does not). Therefore every sentence has exactly one tree.
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

    // The settings of a built-in task, except for data and vocabularies.
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
        threads: ThreadCount::Suggested(n_cores),
        log: Arc::new(|line| println!("{line}")),
        ..RunEnvironment::new(FOLDER, &device)
    };
    let outcome = train(&experiment, &environment)?;

    let translator = Translator::open(&outcome.model, &device)?;
    let sentences: Vec<&String> = test.iter().map(|(sentence, _)| sentence).collect();
    let found = translator.translate_with(&sentences, &Search::greedy())?;
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

/// Makes sentences and trees; a hash of the sentence selects its part, so that no sentence is in two parts.
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
    /// Writes a word, or a phrase in brackets; the closing bracket repeats the name of the phrase.
    fn write(&mut self, symbol: &str) {
        let rules = GRAMMAR.lines().filter_map(|line| line.split_once('='));
        let rules = rules.filter(|(name, _)| name.trim() == symbol);
        let productions: Vec<_> = rules.flat_map(|(_, right)| right.split('|')).collect();
        self.n_drawn += 1;
        let chosen = hash(self.seed, self.n_drawn) as usize % productions.len();
        let production = productions[chosen].trim();
        if symbol.starts_with(char::is_lowercase) {
            self.words.push(production);
            self.tree.push(production.to_owned());
        } else {
            let name = symbol.split('/').next().unwrap_or(symbol);
            self.tree.push(format!("({name}"));
            production.split(' ').for_each(|part| self.write(part));
            self.tree.push(format!("){name}"));
        }
    }
}

/// Removes the names from the closing brackets; only the model needs them.
fn readable(tree: &str) -> String {
    let tokens = tree.split(' ').map(|token| match token.starts_with(')') {
        true => ")",
        false => token,
    });
    tokens.collect::<Vec<_>>().join(" ").replace(" )", ")")
}
