//! The languages of a model, from the settings of a run to every model that is made of it.

use transformer_core::directory::ModelDirectory;
use transformer_core::text::LanguageCode;

use crate::workplace::Workplace;

/// Returns the languages of a model, such as `en to pt-BR`.
fn languages(workplace: &Workplace, out: &str) -> String {
    let directory = ModelDirectory::open(workplace.path(out)).expect("training wrote a model");
    let code = |code: &Option<LanguageCode>| {
        let code = code.as_ref().map(LanguageCode::as_str);
        code.unwrap_or("?").to_owned()
    };
    let languages = directory.languages();
    format!("{} to {}", code(&languages.src), code(&languages.tgt))
}

const EN_PT: [&str; 4] = ["--src-lang", "en", "--tgt-lang", "PT-br"];

#[test]
fn flags_are_stored_with_the_model_and_change_no_weight() {
    let workplace = Workplace::new();
    workplace.train("plain", &[]).lines();
    workplace.train("named", &EN_PT).lines();
    assert_eq!(languages(&workplace, "plain"), "? to ?");
    assert_eq!(languages(&workplace, "named"), "en to pt-BR");
    assert!(workplace.weights("plain") == workplace.weights("named"));
    // Their own keys, beside the settings, which another program need not parse.
    let manifest = workplace.manifest("named/model");
    assert_eq!(manifest["format"], 1);
    assert_eq!(manifest["training"]["src_lang"], "en");
    assert_eq!(manifest["training"]["tgt_lang"], "pt-BR");
}

#[test]
fn a_finished_run_can_be_named_by_resuming_it() {
    let workplace = Workplace::new();
    workplace.train("run", &[]).lines();
    let before = workplace.weights("run");
    workplace
        .run(&[&["--resume", "run"], &EN_PT[..]].concat())
        .lines();
    assert_eq!(languages(&workplace, "run"), "en to pt-BR");
    assert!(workplace.weights("run") == before);
}

/// A pair with equal sides is left out only if the languages are known.
#[test]
fn languages_that_are_added_to_a_run_do_not_change_its_cleaned_text() {
    let workplace = Workplace::new();
    for name in ["a.src", "b.tgt"] {
        workplace.write(name, workplace.read(name) + "a b c\n");
    }
    workplace
        .train("whole", &["--clean", "--updates", "50"])
        .lines();
    workplace
        .train("run", &["--clean", "--updates", "20"])
        .lines();
    for updates in ["30", "50"] {
        let resume = [&["--resume", "run", "--updates", updates], &EN_PT[..]].concat();
        workplace.run(&resume).lines();
    }
    assert_eq!(languages(&workplace, "run"), "en to pt-BR");
    assert!(workplace.weights("run") == workplace.weights("whole"));
}

#[test]
fn a_mean_of_checkpoints_has_the_languages_of_the_run() {
    let workplace = Workplace::new();
    workplace.train("run", &EN_PT).lines();
    let average = ["average", "--run", "run", "--last", "2", "--out", "mean"];
    workplace.run(&average).lines();
    assert_eq!(languages(&workplace, "mean"), "en to pt-BR");
}

#[test]
fn a_model_in_reduced_precision_has_the_languages_of_the_original() {
    let workplace = Workplace::new();
    workplace.train("run", &EN_PT).lines();
    let directory = ModelDirectory::open(workplace.path("run")).expect("training wrote a model");
    let precision = transformer_core::directory::Precision::Int8;
    let written = directory.write_quantized(workplace.path("small"), precision);
    written.expect("the folder is writable");
    assert_eq!(languages(&workplace, "small"), "en to pt-BR");
}

#[test]
fn a_model_that_is_trained_further_keeps_languages_that_are_not_given() {
    let workplace = Workplace::new();
    workplace.train("base", &EN_PT).lines();
    let config = workplace.read("run.toml");
    let (before, _) = config
        .split_once("[tokenizer]")
        .expect("it has a tokenizer");
    let (_, training) = config.split_once("[training]").expect("it has updates");
    workplace.write("tune.toml", format!("{before}[training]{training}"));
    let tune = |out: &str, more: &[&str]| {
        let common = "--config tune.toml --src a.src --tgt b.tgt --threads 1 --finetune base --out";
        let common: Vec<&str> = common.split(' ').chain([out]).collect();
        workplace.run(&[&common, more].concat()).lines();
        languages(&workplace, out)
    };
    assert_eq!(tune("same", &[]), "en to pt-BR");
    assert_eq!(tune("other", &["--src-lang", "es"]), "es to pt-BR");
}

#[test]
fn another_text_is_refused_with_examples() {
    let workplace = Workplace::new();
    let flag = workplace.run(&["--src-lang", "English", "--dry-run"]);
    assert_eq!(flag.code, Some(2));
    let message = "`English` is not the code of a language; give one as in BCP 47";
    assert!(flag.stderr.contains(message), "{flag:?}");
    let set = workplace.train("run", &["--set", "data.tgt_lang=pt_BR"]);
    let message = set.failure();
    assert!(
        message.contains("`pt_BR` is not the code of a language"),
        "{message}"
    );
}
