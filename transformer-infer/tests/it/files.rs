//! The commands that read files, as a user runs them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::command::{stderr, stdout};
use crate::model::write_model;

/// A temporary folder with a model in `model`, and files.
struct Workplace(tempfile::TempDir);

impl Workplace {
    fn new(files: &[(&str, &str)]) -> Self {
        let workplace = Self(tempfile::tempdir().expect("the system has temporary directories"));
        for (name, content) in files {
            fs::write(workplace.path().join(name), content).expect("the directory is writable");
        }
        workplace
    }

    fn with_model(files: &[(&str, &str)]) -> Self {
        let workplace = Self::new(files);
        write_model(&workplace.path().join("model"));
        workplace
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).expect("the file is there")
    }

    fn run(&self, arguments: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_transformer-infer"))
            .args(arguments.split(' '))
            .current_dir(self.path())
            .stdin(Stdio::null())
            .output()
            .expect("cargo has built the program")
    }
}

fn numbers(lines: &[&str]) -> Vec<f64> {
    let number = |line: &&str| line.parse().expect("the line is a number");
    lines.iter().map(number).collect()
}

const SRC: &str = "a cab\n\nbad bad\nfeed a cab\n";
const TGT: &str = "bad\na\n\nfaded cab d\n";

#[test]
fn score_prints_the_same_values_in_any_order_and_batch() {
    let reversed = |text: &str| {
        text.lines()
            .rev()
            .map(|line| line.to_owned() + "\n")
            .collect()
    };
    let (src, tgt): (String, String) = (reversed(SRC), reversed(TGT));
    let files = [("src", SRC), ("tgt", TGT), ("crs", &*src), ("tgr", &*tgt)];
    let workplace = Workplace::with_model(&files);
    let forth = workplace.run("score --model model --src src --tgt tgt");
    let back = workplace.run("score --model model --src crs --tgt tgr --batch-tokens 1 -q");
    let (forth, back) = (numbers(&stdout(&forth)), numbers(&stdout(&back)));
    assert_eq!(forth.len(), 4);
    assert!(forth.iter().all(|log_prob| *log_prob < 0.0), "{forth:?}");
    // Four digits are printed, and sums of float32 differ in the sixth.
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 2e-4;
    assert!(
        forth.iter().zip(back.iter().rev()).all(near),
        "{forth:?} {back:?}"
    );
}

#[test]
fn score_prints_tokens_total_and_perplexity() {
    let workplace = Workplace::with_model(&[("src", SRC), ("tgt", TGT)]);
    let output = workplace.run("score --model model --src src --tgt tgt --json --per-token");
    let lines: Vec<Value> = stdout(&output)
        .into_iter()
        .map(|line| serde_json::from_str(line).expect("the line is JSON"))
        .collect();
    let (mut sum, mut n_tokens) = (0.0, 0);
    for line in &lines {
        let tokens = line["tokens"].as_array().expect("tokens were asked for");
        assert_eq!(line["n_tokens"], tokens.len());
        assert_eq!(tokens[tokens.len() - 1]["token"], "</s>");
        let log_probs = tokens.iter().filter_map(|token| token["log_prob"].as_f64());
        let log_prob: f64 = log_probs.sum();
        assert!((line["log_prob"].as_f64().expect("it is a number") - log_prob).abs() < 1e-9);
        sum += log_prob;
        n_tokens += tokens.len();
    }
    // The characters of the targets, and four times EOS.
    assert_eq!((lines.len(), n_tokens), (4, 3 + 1 + 11 + 4));
    let perplexity = (-sum / n_tokens as f64).exp();
    let expected =
        format!("4 pairs, 19 tokens: log-probability {sum:.4}, perplexity {perplexity:.4}");
    assert_eq!(stderr(&output).lines().last(), Some(expected.as_str()));
}

#[test]
fn score_cuts_long_lines_with_a_warning() {
    let workplace = Workplace::with_model(&[("src", "abcdef\n"), ("tgt", "abc\n")]);
    let output = workplace.run("score --model model --src src --tgt tgt --per-token --max-len 2");
    let line = stdout(&output).concat();
    let tokens = line.split_once('\t').expect("a tab follows the score").1;
    // Two characters, and the token at the position of EOS.
    assert_eq!(tokens.split(' ').count(), 3);
    let warning = "warning: line 1: the last 4 source tokens and the last 1 target tokens (EOS \
                   included) are beyond the limit (--max-len, or the positions of the model) and were \
                   left out";
    assert!(stderr(&output).contains(warning), "{}", stderr(&output));
}

#[test]
fn score_refuses_files_of_different_length() {
    let workplace = Workplace::with_model(&[("src", "a\nb\n"), ("tgt", "a\n")]);
    let output = workplace.run("score --model model --src src --tgt tgt");
    assert_eq!(output.status.code(), Some(1));
    let expected = "error: `src` has 2 lines and `tgt` has 1; every line needs its translation\n";
    assert_eq!(stderr(&output), expected);
}

#[test]
fn evaluate_prescribes_the_terms_of_a_glossary_as_translate_does() {
    let terms = "cab\tfed\nbad\txyz\n";
    let files = [
        ("src", "a cab\nd\nbad\n"),
        ("ref", "a\nb\nc\n"),
        ("terms", terms),
    ];
    let workplace = Workplace::with_model(&files);
    let search = "--beam 2 --max-len 12 --terms terms";
    let evaluated = workplace.run(&format!(
        "evaluate --model model --src src --ref ref {search} --out out"
    ));
    let messages = stderr(&evaluated);
    assert!(messages.contains("warning: line 3: the translation lacks the term `xyz`\n"));
    assert!(messages.contains("terms: 1 of 2 were met\n"), "{messages}");
    let out = workplace.read("out");
    let first = out.lines().next().unwrap_or_default();
    assert!(first.split(' ').any(|word| word == "fed"), "{out}");
    let translated = ["a cab", "d", "bad"].map(|line| {
        let mut translate = Command::new(env!("CARGO_BIN_EXE_transformer-infer"));
        translate
            .args(format!("translate --quiet --model model {search} --").split(' '))
            .arg(line)
            .current_dir(workplace.path())
            .output()
            .expect("cargo has built the program")
    });
    let lines: Vec<&str> = translated.iter().flat_map(stdout).collect();
    assert_eq!(out.lines().collect::<Vec<_>>(), lines);
}

#[test]
fn evaluate_combines_translate_and_bleu() {
    let workplace = Workplace::with_model(&[("src", SRC), ("ref", TGT)]);
    let search = "--beam 3 --max-len 9";
    let evaluate = format!("evaluate --model model --src src --ref ref {search} --out out --ter");
    let evaluated = workplace.run(&evaluate);
    let sources: Vec<&str> = SRC.lines().collect();
    let mut translate = Command::new(env!("CARGO_BIN_EXE_transformer-infer"));
    let translated = translate
        .args("translate --quiet --model model --beam 3 --max-len 9 --".split(' '))
        .args(sources)
        .current_dir(workplace.path())
        .output()
        .expect("cargo has built the program");
    assert_eq!(workplace.read("out"), stdout(&translated).join("\n") + "\n");
    let bleu = workplace.run("bleu --hyp out --ref ref --chrf --ter");
    let expected = stdout(&bleu);
    // `bleu --chrf` has chrF2++ as well.
    assert_eq!(stdout(&evaluated), [expected[0], expected[1], expected[3]]);
    let last = stderr(&evaluated).lines().last().unwrap_or_default();
    assert!(
        last.starts_with("4 lines, ") && last.ends_with(" tokens per second"),
        "{last}"
    );
}

#[test]
fn evaluate_scores_one_translation_whatever_n_best_the_model_has() {
    let workplace = Workplace::with_model(&[("src", SRC), ("ref", TGT)]);
    let plain = workplace.run("evaluate --model model --src src --ref ref --beam 2 --max-len 9");
    let path = workplace.path().join("model/manifest.json");
    let mut manifest: serde_json::Value =
        serde_json::from_str(&workplace.read("model/manifest.json")).expect("it is JSON");
    manifest["training"] = serde_json::json!({ "search": { "beam_size": 4, "n_best": 4 } });
    fs::write(&path, manifest.to_string()).expect("the directory is writable");
    let several = workplace.run("evaluate --model model --src src --ref ref --beam 2 --max-len 9");
    assert_eq!(stdout(&several), stdout(&plain));
    assert!(!stdout(&plain).is_empty());
}

#[test]
fn a_byte_order_mark_is_neither_translated_nor_scored() {
    let with_mark = format!("\u{feff}{SRC}");
    let marked_reference = format!("\u{feff}{TGT}");
    let workplace = Workplace::with_model(&[
        ("src", SRC),
        ("marked-src", &with_mark),
        ("ref", TGT),
        ("marked-ref", &marked_reference),
    ]);
    let [plain, marked] = ["", "marked-"].map(|marked| {
        let files = format!("--src {marked}src --ref {marked}ref --out out");
        let evaluate = format!("evaluate --model model --max-len 9 {files}");
        let scores = stdout(&workplace.run(&evaluate)).join("\n");
        (scores, workplace.read("out"))
    });
    assert_eq!(plain, marked);
}

#[test]
fn evaluate_checks_the_output_path_before_it_translates() {
    let workplace = Workplace::with_model(&[("src", SRC), ("ref", TGT)]);
    let cases = [
        ("no/out", "the folder `no` does not exist; create it first"),
        ("model", "`model` is a folder; give --out a file"),
        ("-", "`--out -` would mix translations with scores;"),
    ];
    for (out, expected) in cases {
        let command = format!("evaluate --model model --src src --ref ref -q --out {out}");
        let message = stderr(&workplace.run(&command)).to_owned();
        assert!(
            message.starts_with(&format!("error: {expected}")),
            "{message}"
        );
    }
}

#[test]
fn ter_is_printed_as_sacrebleu_prints_it() {
    let workplace = Workplace::new(&[
        ("hyp", "The cat sat.\nA dog!\n"),
        ("ref", "the cat sat.\nThe dog!\n"),
    ]);
    let output = workplace.run("bleu --hyp hyp --ref ref --ter --width 2");
    // What `sacrebleu ref -i hyp -m ter -w 2 -f text` prints, version 2.5.1.
    let expected =
        "TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.5.1 = 20.00";
    assert_eq!(stdout(&output)[1], expected);
    let refused = workplace.run("bleu --hyp hyp --ref ref --ter-normalized");
    assert_eq!(refused.status.code(), Some(2));
}

const REF: &str = "a dog ran home today\nthe cat sat on the mat\nit is cold outside now\n";
const WORSE: &str = "a dog run home today\na cat sat at a mat\nit cold is outside now\n";

#[test]
fn compare_marks_a_worse_translation() {
    let workplace = Workplace::new(&[("ref", REF), ("a", REF), ("b", WORSE)]);
    let output = workplace.run("compare --ref ref --hyp a --hyp b --hyp a --json --ter");
    let metrics: Value = serde_json::from_str(&stdout(&output).concat()).expect("it is JSON");
    let signature = "nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:2.5.1";
    assert_eq!(metrics[0]["signature"], signature);
    assert_eq!(metrics.as_array().map(Vec::len), Some(3));
    for metric in metrics.as_array().into_iter().flatten() {
        let systems = &metric["systems"];
        assert!(systems[0].get("p_value").is_none());
        assert_eq!(systems[2]["score"], systems[0]["score"]);
        // A system that is no different never differs by more.
        assert_eq!(systems[2]["p_value"].as_f64(), Some(1.0 / 1001.0));
        let score = |system: usize| systems[system]["score"].as_f64().expect("it is a number");
        let is_worse = if metric["metric"] == "TER" {
            score(1) > score(0)
        } else {
            score(1) < score(0)
        };
        assert!(is_worse, "{metric}");
    }
}

#[test]
fn compare_does_not_mark_a_difference_of_zero() {
    let workplace = Workplace::new(&[("ref", REF), ("a", REF), ("b", WORSE)]);
    let output = workplace.run("compare --ref ref --hyp b --hyp b --hyp a");
    let lines = stdout(&output);
    let of_bleu: Vec<&&str> = lines
        .iter()
        .skip_while(|line| !line.starts_with("BLEU|"))
        .collect();
    assert!(of_bleu[2].ends_with("+0.0  p = 0.0010"), "{of_bleu:?}");
    assert!(of_bleu[3].ends_with(" *"), "{of_bleu:?}");
}

#[test]
fn compare_prints_the_same_for_the_same_seed() {
    let workplace = Workplace::new(&[("ref", REF), ("a", REF), ("b", WORSE)]);
    let run = |seed: &str| {
        let arguments =
            "compare --ref ref --hyp a --hyp b --test randomization --samples 50 --seed ";
        stdout(&workplace.run(&format!("{arguments}{seed}"))).join("\n")
    };
    assert_eq!(run("7"), run("7"));
    assert!(run("7").contains("|ar:50|seed:7|"), "{}", run("7"));
}

#[test]
fn compare_requires_two_translations() {
    let workplace = Workplace::new(&[("ref", REF), ("a", REF)]);
    let output = workplace.run("compare --ref ref --hyp a");
    assert_eq!(output.status.code(), Some(2));
    let expected = "error: only one translation to compare; give `--hyp` at least twice, or --html for a page about one\n";
    assert_eq!(stderr(&output), expected);
}

#[test]
fn inspect_shows_the_contents_of_the_directory() {
    let workplace = Workplace::with_model(&[]);
    let output = workplace.run("inspect --model model --json");
    let shown: Value = serde_json::from_str(&stdout(&output).concat()).expect("it is JSON");
    assert_eq!(
        (&shown["format"], &shown["config"]["d_model"]),
        (&1.into(), &24.into())
    );
    assert_eq!(shown["special_tokens"]["</s>"], 3);
    assert_eq!(shown["vocabularies"][0]["kind"], "characters");
    assert_eq!(shown["training"]["updates"], 0);
    let text = workplace.run("inspect --model model");
    let weights = shown["files"].as_array().into_iter().flatten();
    for file in weights {
        let hash = file["sha256"].as_str().expect("hashes are text");
        assert!(stdout(&text).iter().any(|line| line.contains(hash)));
    }
}

#[test]
fn inspect_shows_the_languages_of_the_model() {
    let workplace = Workplace::with_model(&[]);
    let path = workplace.path().join("model/manifest.json");
    let mut manifest: Value =
        serde_json::from_str(&workplace.read("model/manifest.json")).expect("it is JSON");
    manifest["training"]["src_lang"] = "en".into();
    for (tgt, expected) in [("pt-BR", "en to pt-BR"), ("", "en to an unknown language")] {
        match tgt {
            "" => manifest["training"]["tgt_lang"].take(),
            tgt => std::mem::replace(&mut manifest["training"]["tgt_lang"], tgt.into()),
        };
        fs::write(&path, manifest.to_string()).expect("the directory is writable");
        let text = workplace.run("inspect --model model");
        let mut rows = stdout(&text);
        rows.retain(|row| row.contains("lang"));
        assert_eq!(rows, [format!("languages    {expected}")]);
    }
    let json = workplace.run("inspect --model model --json");
    let shown: Value = serde_json::from_str(&stdout(&json).concat()).expect("it is JSON");
    assert_eq!(
        (&shown["src_lang"], &shown["tgt_lang"]),
        (&"en".into(), &Value::Null)
    );
}

#[test]
fn inspect_fails_with_the_errors_of_loading() {
    let workplace = Workplace::with_model(&[]);
    fs::write(workplace.path().join("model/weights.bpk"), "cut").expect("the file is writable");
    let inspected = workplace.run("inspect --model model");
    let translated = workplace.run("translate --model model bad");
    assert_eq!(inspected.status.code(), Some(1));
    assert!(
        stderr(&inspected).contains("weights.bpk"),
        "{}",
        stderr(&inspected)
    );
    assert_eq!(stderr(&inspected), stderr(&translated));
}

#[cfg(unix)]
#[test]
fn an_output_that_is_a_link_to_nothing_is_refused_with_its_target() {
    let workplace = Workplace::with_model(&[("src", "bad\n"), ("ref", "bad\n")]);
    std::os::unix::fs::symlink("nowhere", workplace.path().join("link"))
        .expect("the folder is writable");
    for command in [
        "export --model model --format safetensors --out link",
        "export --model model --format safetensors --out link/below",
        "evaluate --model model --src src --ref ref --out link",
        "attention --model model --out link/a.json bad",
        "quantize --model model --precision f16 --out link",
        "import --from model --out link",
    ] {
        let output = workplace.run(command);
        assert!(!output.status.success(), "{command}");
        let message = stderr(&output).lines().last().unwrap_or_default();
        assert!(
            message.starts_with("error: cannot write `link"),
            "{command}: {message}"
        );
        assert!(
            message.ends_with(
                "`link` is a link to `nowhere`, which does not exist; create that, or give another path"
            ),
            "{command}: {message}"
        );
    }
}
