//! Several corpora with tags, mixed by temperature, with noise, each validated by itself.

use serde_json::Value;
use transformer_search::Search;
use transformer_translate::Translator;

use crate::resume::assert_same;
use crate::workplace::{CONFIG, Ended, Running, Workplace, pairs, test_device};

/// The settings of [`tagged`], behind those of the workplace.
const CORPORA: &str = r#"
[[data.corpora]]
tsv = "octal.tsv"
tag = "<8>"
valid_tsv = "octal-valid.tsv"

[[data.corpora]]
tsv = "reversed.tsv"
tag = "<r>"
target_tag = "<R>"
weight = 2.0
valid_tsv = "reversed-valid.tsv"
"#;

/// Makes a workplace with two corpora: 40 pairs, and 7 pairs whose targets are reversed.
fn tagged() -> Workplace {
    let workplace = Workplace::new();
    let data = "[data]\nsampling_temperature = 3.0\nnoise_typos = 0.3\nnoise_uppercase = 0.1";
    let config = CONFIG
        .replace("[data]", data)
        .replace("max_len = 13", "max_len = 17");
    workplace.write("corpora.toml", config + CORPORA);
    // Letters, which noise can change.
    let pairs = || {
        let letters = |src: String| src.replace('0', "o").replace('1', "i");
        pairs()
            .into_iter()
            .map(move |(src, tgt)| (letters(src), tgt))
    };
    let rows = pairs().map(|(src, tgt)| format!("{src}\t{tgt}\n"));
    let reversed = pairs().map(|(src, tgt)| {
        let tgt: String = tgt.chars().rev().collect();
        format!("{src}\t{tgt}\n")
    });
    let (rows, reversed): (Vec<_>, Vec<_>) = (rows.collect(), reversed.collect());
    workplace.write("octal.tsv", rows[..40].concat());
    workplace.write("octal-valid.tsv", rows[40..].concat());
    workplace.write("reversed.tsv", reversed[..7].concat());
    workplace.write("reversed-valid.tsv", reversed[42..].concat());
    workplace
}

const COMMON: [&str; 4] = ["--config", "corpora.toml", "--threads", "1"];

fn train(workplace: &Workplace, more: &[&str]) -> Ended {
    workplace.run(&[&COMMON, more].concat())
}

#[test]
fn a_killed_run_with_corpora_temperature_and_noise_resumes_with_equal_results() {
    let workplace = tagged();
    for store in ["memory", "disk"] {
        let (whole, run) = (format!("whole-{store}"), format!("run-{store}"));
        let store = format!("data.store={store}");
        let more = ["--updates", "200", "--set", &store, "--out"];
        train(&workplace, &[&more[..], &[whole.as_str()]].concat()).lines();
        let arguments = [&COMMON[..], &more[..], &[run.as_str()]].concat();
        let mut running = Running::new(workplace.program(&arguments));
        running.wait_for_intervals(3);
        running.kill();
        let ended = workplace.run(&arguments);
        let is_resumed = |line: &&str| line.starts_with("resumed     after update ");
        assert!(ended.lines().iter().any(is_resumed), "{ended:?}");
        assert_same(&workplace, &run, &whole);
    }
    assert!(workplace.weights("whole-disk") == workplace.weights("whole-memory"));
}

#[test]
fn noise_changes_what_is_learned_and_can_be_changed_on_request() {
    let workplace = tagged();
    train(&workplace, &["--out", "noisy"]).lines();
    let clean = [
        "--set",
        "data.noise_typos=0.0",
        "--set",
        "data.noise_uppercase=0.0",
    ];
    train(&workplace, &[&["--out", "clean"], &clean[..]].concat()).lines();
    assert!(workplace.weights("noisy") != workplace.weights("clean"));
    let more = [
        "--resume",
        "clean",
        "--updates",
        "40",
        "--set",
        "data.noise_typos=0.5",
    ];
    let message = workplace.run(&more).failure().to_owned();
    assert!(
        message.contains("`data.noise_typos` is 0.5 now"),
        "{message}"
    );
    workplace
        .run(&[&more[..], &["--allow-changes"]].concat())
        .lines();
}

#[test]
fn shares_and_tags_of_the_corpora_are_logged() {
    let workplace = tagged();
    let ended = train(&workplace, &["--out", "run"]);
    // 40 and 14 sentences; shares in the ratio of 40^(1/3) to 2·7^(1/3).
    let expected = [
        "corpus 1    40 pairs, tag <8>, weight 0.637: 47.2% of the sentences of a pass",
        "corpus 2    7 pairs, tag <r>, target tag <R>, weight 4.073: 52.8% of the sentences of a pass",
    ];
    for line in expected {
        assert!(ended.lines().contains(&line), "{ended:?}");
    }
}

#[test]
fn each_corpus_has_its_scores_and_their_mean_decides() {
    let workplace = tagged();
    let ended = train(
        &workplace,
        &["--out", "run", "--set", "validation.max_sentences=9"],
    );
    let of_corpora = ended.lines().into_iter();
    let of_corpora = of_corpora.filter(|line| line.starts_with("  corpus 2     valid ppl "));
    assert_eq!(of_corpora.count(), 3, "{ended:?}");
    let metrics = workplace.read("run/metrics.csv");
    let value = |name: &str| -> f64 {
        let start = format!("20,valid,{name},");
        let row = metrics.lines().find_map(|row| row.strip_prefix(&start));
        row.expect("the metric is there")
            .parse()
            .expect("it is a number")
    };
    for name in ["Loss", "BLEU", "chrF2"] {
        let of_corpora = [1, 2].map(|number| value(&format!("{name} corpus {number}")));
        let mean = (of_corpora[0] + of_corpora[1]) / 2.0;
        assert!((value(name) - mean).abs() < 1e-9, "{name}");
    }
    let product = value("Perplexity corpus 1") * value("Perplexity corpus 2");
    assert!((value("Perplexity") - product.sqrt()).abs() < 1e-9);
    let state: Value = serde_json::from_str(&workplace.read("run/checkpoints/state-20.json"))
        .expect("the state is JSON");
    let saved = state["validations"][1]["perplexity"].as_f64();
    assert!((saved.expect("it is a number") - value("Perplexity")).abs() < 1e-6);
    // Of 9 translated pairs the corpora take turns: 5 of the first with 7, 4 of the second with 5.
    let scores = &workplace.manifest("run/model")["training"]["scores"];
    let n_pairs = |corpus: usize| scores["corpora"][corpus]["valid_pairs_translated"].as_u64();
    assert_eq!([n_pairs(0), n_pairs(1)], [Some(5), Some(4)]);
}

#[test]
fn a_tag_is_one_token_and_a_target_tag_is_no_part_of_the_shown_translation() {
    let workplace = tagged();
    let ended = train(
        &workplace,
        &["--out", "run", "--set", "validation.n_samples=2"],
    );
    let lines = ended.lines();
    let n_lines = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
    assert!(n_lines("source       <r> ") > 0, "{ended:?}");
    let n_sources = n_lines("source ");
    assert_eq!(n_lines("reference "), n_sources, "{ended:?}");
    assert_eq!(n_lines("translation "), n_sources, "{ended:?}");
    let shown = |line: &&&str| line.starts_with("reference ") || line.starts_with("translation ");
    assert!(lines.iter().filter(shown).all(|line| !line.contains("<R>")));
    let device = test_device();
    let translator = Translator::open(workplace.path("run"), &device).expect("it is a model");
    let tokenizer = translator.tokenizers().src().clone();
    let symbols: Vec<_> = tokenizer
        .user_symbols()
        .into_iter()
        .filter_map(|id| tokenizer.token(id))
        .collect();
    assert_eq!(symbols, ["<8>", "<r>", "<R>"]);
    assert_eq!(
        tokenizer.encode("<r> ioi").len(),
        "<r> ioi".chars().count() - 2
    );
    let translated = translator.translate_with(&["<8> ioii", "<r> i"], &Search::default());
    assert!(translated.is_ok());
}

#[test]
fn the_command_gets_sources_and_references_without_tags() {
    let workplace = tagged();
    workplace.write("score.sh", "cp \"$1\" src; cp \"$3\" ref; echo 1");
    let command = "validation.command=sh score.sh {src} {hyp} {ref}";
    let more = [
        "--out",
        "run",
        "--set",
        command,
        "--set",
        "validation.max_sentences=9",
    ];
    train(&workplace, &more).lines();
    for name in ["src", "ref"] {
        let text = workplace.read(name);
        assert_eq!(text.lines().count(), 9);
        assert!(!text.contains('<'), "{text}");
    }
}

#[test]
fn the_listing_of_the_documentation_trains() {
    let page = include_str!("../../../docs/training.md");
    let marker = "<!-- run by CI: transformer-train/tests/it/corpora.rs -->\n```toml\n";
    let (_, listing) = page.split_once(marker).expect("the page has the listing");
    let (listing, _) = listing.split_once("```").expect("the listing ends");
    let workplace = Workplace::new();
    let data = "[data]\nmax_len = 13\nvalid_pairs = 3\n";
    assert!(CONFIG.contains(data));
    workplace.write("listing.toml", CONFIG.replace(data, "") + listing);
    let (src, tgt): (Vec<String>, Vec<String>) = pairs().into_iter().unzip();
    for (range, src_name, tgt_name, tsv_name) in [
        (0..40, "train.en", "train.de", "en-fr.tsv.gz"),
        (40..47, "valid.en", "valid.de", "valid.en-fr.tsv"),
    ] {
        let lines = |side: &[String]| side[range.clone()].join("\n") + "\n";
        workplace.write(src_name, lines(&src));
        workplace.write(tgt_name, lines(&tgt));
        let rows = range
            .clone()
            .map(|row| format!("{}\t{}\n", src[row], tgt[row]));
        workplace.write(tsv_name, rows.collect::<String>());
    }
    let more = "--config listing.toml --threads 1 --out run --updates 10 --set data.max_len=17";
    let more: Vec<&str> = more.split(' ').collect();
    let ended = workplace.run(&more);
    let is_second = |line: &&str| line.starts_with("corpus 2    40 pairs, tag <2fr>, ");
    assert!(ended.lines().iter().any(is_second), "{ended:?}");
}

#[test]
fn a_finetuned_model_must_know_the_tags() {
    let workplace = tagged();
    workplace.train("plain", &[]).lines();
    let corpora =
        "data.corpora=[{ tsv = 'octal.tsv', tag = '<8>', valid_tsv = 'octal-valid.tsv' }]";
    let more = ["--finetune", "plain", "--out", "tuned", "--set", corpora];
    let message = workplace.run(&more).failure().to_owned();
    let expected = "the tokenizer of the model that is trained further does not know the tag `<8>` of corpus 1;";
    assert!(message.starts_with(expected), "{message}");
    train(&workplace, &["--out", "tagged"]).lines();
    let more = [
        "--finetune",
        "tagged",
        "--out",
        "tuned",
        "--set",
        corpora,
        "--updates",
        "10",
    ];
    workplace.run(&more).lines();
}

#[test]
fn a_corpus_whose_validation_pairs_are_all_dropped_is_named() {
    let workplace = tagged();
    workplace.write("reversed-valid.tsv", " \t1\n");
    let message = train(&workplace, &["--out", "run"]).failure().to_owned();
    let expected = "no validation pair of corpus 2 of `data.corpora` passes the filters; check its `valid_src`";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn other_validation_pairs_and_paths_do_not_change_a_resumed_run_but_other_tags_do() {
    let workplace = tagged();
    train(&workplace, &["--out", "run"]).lines();
    let config = workplace.read("corpora.toml");
    workplace.write(
        "corpora.toml",
        config.replace("valid_tsv = \"octal-valid.tsv\"\n", ""),
    );
    train(&workplace, &["--out", "run", "--updates", "40"]).lines();
    workplace.write("corpora.toml", config.replace("<8>", "<9>"));
    let ended = train(&workplace, &["--out", "run", "--updates", "50"]);
    let message = ended.failure();
    assert!(message.contains("`data.corpora` is "), "{message}");
}
