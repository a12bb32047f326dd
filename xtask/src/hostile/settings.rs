//! The class `settings`: foolish values of every key, by `--set` and in files, alone and together.

use anyhow::{Context, Result, ensure};
use toml::{Table, Value};

use super::call::Call;
use super::case::{Case, with_arguments};
use super::lab::{Lab, SETTINGS};
use super::random::Random;
use crate::settings::{Key, Section, Values};

/// Values for keys of any type, in TOML. Training is tried with the first ones, if the settings are accepted.
const VALUES: [&str; 38] = [
    "0",
    "-1",
    "1",
    "2",
    "7",
    "0.5",
    "0.0",
    "-0.0",
    "1.0",
    "-0.5",
    "nan",
    "inf",
    "-inf",
    "1e-300",
    "true",
    "false",
    "\"\"",
    "\"none\"",
    "\"None\"",
    "\"漢字\"",
    "\"a\\u0000b\"",
    "\"\\u001b[2J\"",
    "\" 1\"",
    "\"1\"",
    "[]",
    "{}",
    // From here on, training may take long.
    "1e300",
    "-1e300",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "65536",
    "4294967296",
    "1000000",
    "0x10",
    "1979-05-27",
    "[1, [2]]",
    "{ a = 1 }",
];
const N_QUICK: usize = 26;

/// More values for keys of paths.
const PATHS: [&str; 9] = [
    "\"/dev/zero\"",
    "\"/dev/null\"",
    "\"/dev/full\"",
    "\"nowhere\"",
    "\".\"",
    "\"LAB/a.src\"",
    "\"LAB/model\"",
    "\"LAB/run\"",
    "\"-\"",
];

/// Values that are drawn for several keys at once.
const NUMBERS: [&str; 16] = [
    "0", "1", "2", "3", "4", "5", "8", "16", "17", "64", "0.1", "0.5", "0.99", "1.0", "1e-9", "-1",
];

/// Attempts with several keys at once.
const N_TOGETHER: u64 = 3000;

/// The largest number of values of a key.
const MOST_VALUES: u64 = VALUES.len() as u64 + 12;

pub(super) fn n_attempts(lab: &Lab) -> Result<u64> {
    Ok(2 * MOST_VALUES * keys(&lab.sections).len() as u64 + N_TOGETHER)
}

/// Returns all keys, with their sections.
pub(super) fn keys(sections: &[Section]) -> Vec<(&str, &Key)> {
    let mut keys = Vec::new();
    for Section {
        name, keys: own, ..
    } in sections
    {
        keys.extend(own.iter().map(|key| (name.as_str(), key)));
    }
    keys
}

pub(super) fn attempt(case: &mut Case<'_>) -> Result<()> {
    let lab = case.lab;
    let keys = keys(&lab.sections);
    let n_alone = 2 * MOST_VALUES * keys.len() as u64;
    if case.index >= n_alone {
        return together(case, &keys);
    }
    let in_file = case.index % 2 == 1;
    let (section, key) = keys[(case.index / 2 / MOST_VALUES) as usize];
    let values = values_of(key);
    let number = (case.index / 2 % MOST_VALUES) as usize;
    // A key with fewer values gets some of them twice, once with another neighbor.
    let value = values[number % values.len()].replace("LAB", &lab.folder.display().to_string());
    let is_quick = number % values.len() < N_QUICK;
    alone(case, section, &key.name, &value, in_file, is_quick)
}

/// Returns values of a key, in TOML.
fn values_of(key: &Key) -> Vec<String> {
    let mut values: Vec<String> = VALUES.iter().map(|&value| value.to_owned()).collect();
    match &key.values {
        Values::Path => values.extend(PATHS.iter().map(|&value| value.to_owned())),
        Values::OneOf(choices) => {
            values.extend(choices.iter().map(|choice| format!("\"{}\"", choice.name)));
            values.extend(
                choices
                    .iter()
                    .take(1)
                    .map(|choice| format!("\"{} \"", choice.name)),
            );
        }
        Values::TextOrNumber => {
            let texts = ["gnmt:nan", "power:-1e300", "gnmt:", ":", "none", "power:1"];
            values.extend(texts.map(|text| format!("\"{text}\"")));
        }
        Values::Command => {
            let commands = ["cat {hyp}", "nowhere {hyp}", "cat", "'{hyp}", "wc -l {hyp}"];
            values.extend(commands.map(|command| format!("\"{command}\"")));
        }
        Values::Language => {
            let codes = [
                "\"en\"",
                "\"pt-BR\"",
                "\"zh_Hans\"",
                "\"e\"",
                "\"en-\\u0000\"",
            ];
            values.extend(codes.map(str::to_owned));
        }
        Values::Text | Values::Texts => {
            let texts = ["<2de>", "", "<2 de>", "\\u0000", "1", "<0x41>"];
            values.extend(texts.map(|text| format!("[\"{text}\", \"9\"]")));
            values.extend(texts.map(|text| format!("\"{text}\"")));
        }
        Values::SomeOf(choices) => {
            let names = choices
                .iter()
                .map(|choice| format!("[\"{}\"]", choice.name));
            values.extend(names.take(3));
            values.extend(["[\"\"]", "[[]]"].map(str::to_owned));
        }
        Values::Bool | Values::Count | Values::Number | Values::Tables(_) => {}
    }
    values.truncate(MOST_VALUES as usize);
    values
}

fn alone(
    case: &mut Case<'_>,
    section: &str,
    key: &str,
    value: &str,
    in_file: bool,
    is_quick: bool,
) -> Result<()> {
    let mut arguments = vec!["--config".to_owned(), "own.toml".to_owned()];
    if in_file {
        case.write("own.toml", with_key(SETTINGS, section, key, value))?;
    } else {
        case.write("own.toml", SETTINGS)?;
        arguments.extend(["--set".to_owned(), format!("{section}.{key}={value}")]);
    }
    let base = match (section, key) {
        ("data", "task" | "src" | "tgt" | "tsv" | "corpora") => "--out run --threads 1",
        _ => "--src LAB/a.src --tgt LAB/b.tgt --out run --threads 1",
    };
    let call = with_arguments(case.train(base), arguments);
    let ended = case.run(&with_arguments(call.clone(), ["--dry-run"]))?;
    ensure!(!case.path("run").exists(), "--dry-run has written a folder");
    if !ended.succeeded() {
        return Ok(());
    }
    check_in_effect(case, &call, section, key, value)?;
    if is_quick {
        let updates = ["--set", "training.updates=2"];
        let is_length = (section, key) == ("training", "updates");
        case.run(&with_arguments(
            call,
            updates.into_iter().filter(|_| !is_length),
        ))?;
    }
    Ok(())
}

/// Checks that the value is that of the run, or the name of what it means.
fn check_in_effect(
    case: &mut Case<'_>,
    call: &Call,
    section: &str,
    key: &str,
    value: &str,
) -> Result<()> {
    let printed = case.run(&with_arguments(call.clone(), ["--print-config"]))?;
    printed.check_succeeded("--dry-run succeeded")?;
    let printed = printed.stdout();
    let Some(given) = parsed(value) else {
        // What is not TOML is text.
        return Ok(());
    };
    let effective = in_effect(&printed, section, key);
    let effective = effective.with_context(|| format!("`{section}.{key}` is not printed"))?;
    let is_same = is_equal(&given, &effective)
        // After --set, what is not in quotes is text where the key takes text.
        || effective.as_str() == Some(value)
        || (key == "length_penalty" && effective.as_str().is_some_and(|it| it.starts_with("gnmt:")))
        || given == Value::Array(Vec::new());
    ensure!(
        is_same,
        "`{section}.{key}` was set to {given}, and is {effective}"
    );
    Ok(())
}

pub(super) fn parsed(value: &str) -> Option<Value> {
    let table: Table = toml::from_str(&format!("key = {value}")).ok()?;
    table.get("key").cloned()
}

/// Returns the value of a key in a documented file of settings, where defaults are comments.
fn in_effect(printed: &str, section: &str, key: &str) -> Option<Value> {
    let header = format!("[{section}]");
    let lines = printed.lines().skip_while(|line| *line != header).skip(1);
    let mut lines = lines.take_while(|line| !line.starts_with('['));
    lines.find_map(|line| {
        let rest = line.strip_prefix("# ").unwrap_or(line).strip_prefix(key)?;
        parsed(rest.strip_prefix(" = ")?)
    })
}

pub(super) fn is_equal(given: &Value, effective: &Value) -> bool {
    let number = |value: &Value| value.as_float().or(value.as_integer().map(|it| it as f64));
    match (number(given), number(effective)) {
        (Some(given), Some(effective)) => given == effective,
        _ => given == effective,
    }
}

/// Returns settings with a key set to a value.
pub(super) fn with_key(settings: &str, section: &str, key: &str, value: &str) -> String {
    let header = format!("[{section}]");
    let mut text = String::new();
    let mut is_in_section = false;
    let mut is_done = false;
    for line in settings.lines() {
        if line.starts_with('[') {
            is_in_section = line == header;
        }
        let is_key = line
            .split('=')
            .next()
            .is_some_and(|name| name.trim() == key);
        if !(is_in_section && is_key) {
            text += &format!("{line}\n");
        }
        if line == header {
            text += &format!("{key} = {value}\n");
            is_done = true;
        }
    }
    match is_done {
        true => text,
        false => format!("{text}\n{header}\n{key} = {value}\n"),
    }
}

/// Trains with several settings that may be valid each.
fn together(case: &mut Case<'_>, keys: &[(&str, &Key)]) -> Result<()> {
    let base = match case.random.below(3) {
        0 => "--task copy --set data.task_pairs=300",
        1 => "--finetune LAB/model --src LAB/a.src --tgt LAB/b.tgt",
        _ => "--src LAB/a.src --tgt LAB/b.tgt",
    };
    let base = format!("--config LAB/run.toml --out run --threads 1 {base}");
    let mut call = with_arguments(case.train(&base), ["--set", "training.updates=3"]);
    call = with_arguments(call, ["--set", "training.validation_interval=2"]);
    for _ in 0..2 + case.random.below(4) {
        let (section, key) = keys[case.random.below(keys.len())];
        if matches!(
            key.name.as_str(),
            "updates" | "store_folder" | "task_pairs" | "task"
        ) {
            continue;
        }
        let value = plausible(key, &mut case.random);
        let value = value.replace("LAB", &case.lab.folder.display().to_string());
        call = with_arguments(
            call,
            [
                "--set".to_owned(),
                format!("{section}.{}={value}", key.name),
            ],
        );
    }
    let dry = case.run(&with_arguments(call.clone(), ["--dry-run"]))?;
    let ended = case.run(&call)?;
    if dry.succeeded() && !ended.succeeded() {
        // Numbers that overflow are known after an update only.
        let stderr = ended.stderr();
        let is_known_late = ["the loss of ", "not finite", "NaN"]
            .iter()
            .any(|it| stderr.contains(it));
        ensure!(
            is_known_late,
            "--dry-run accepts what training refuses: {stderr}"
        );
    }
    if ended.succeeded() {
        let translated = case.run_infer("translate --model run --beam 1 101")?;
        translated.check_succeeded("the run succeeded")?;
    }
    Ok(())
}

/// Returns a value that the key may take.
fn plausible(key: &Key, random: &mut Random) -> String {
    match &key.values {
        _ if key.takes_none && random.one_in(4) => "\"none\"".to_owned(),
        Values::Bool => random.pick(&["true", "false"]).to_owned(),
        Values::Count | Values::Number => random.pick(&NUMBERS).to_owned(),
        Values::Path => random
            .pick(&[
                "\"LAB/a.src\"",
                "\"LAB/b.tgt\"",
                "\"LAB/words\"",
                "\"nowhere\"",
            ])
            .to_owned(),
        Values::OneOf(choices) => format!("\"{}\"", choices[random.below(choices.len())].name),
        Values::SomeOf(choices) => {
            format!("[\"{}\"]", choices[random.below(choices.len())].name)
        }
        Values::Language => random.pick(&["\"en\"", "\"pt-BR\"", "\"x\""]).to_owned(),
        Values::Command => random
            .pick(&["\"wc -l {hyp}\"", "\"cat {hyp}\"", "\"nowhere {hyp}\""])
            .to_owned(),
        Values::Text => random.pick(&["\"<2de>\"", "\"\"", "\"1 1\""]).to_owned(),
        Values::Texts => random
            .pick(&["[]", "[\"<2de>\", \"1\"]", "[\"\"]", "[\"<s>\"]"])
            .to_owned(),
        Values::TextOrNumber => random
            .pick(&["\"none\"", "\"power:1\"", "0", "1.5"])
            .to_owned(),
        Values::Tables(_) => {
            let corpus = "src = \"LAB/a.src\", tgt = \"LAB/b.tgt\"";
            let weight = random.pick(&["1", "0.5", "0", "3", "1e300"]);
            format!("[{{ {corpus} }}, {{ {corpus}, weight = {weight} }}]")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_set_in_its_section_once() {
        let settings = "[a]\nkey = 1\nother = 2\n[b]\nkey = 3\n";
        let expected = "[a]\nkey = 9\nother = 2\n[b]\nkey = 3\n";
        assert_eq!(with_key(settings, "a", "key", "9"), expected);
        assert!(with_key(settings, "c", "key", "9").ends_with("\n[c]\nkey = 9\n"));
    }

    #[test]
    fn values_in_effect_are_found_where_they_are_defaults() {
        let printed = "[a]\n# Meaning.\n# key = 1\n\n[b]\nkey = 2.0\n";
        assert_eq!(in_effect(printed, "a", "key"), Some(Value::Integer(1)));
        assert_eq!(in_effect(printed, "b", "key"), Some(Value::Float(2.0)));
        assert_eq!(in_effect(printed, "b", "other"), None);
    }
}
