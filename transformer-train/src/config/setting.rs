//! Reads one setting on the command line, `section.key=value`, as strictly as a file.

use toml::{Table, Value};

use crate::config::{ConfigError, read};
use crate::tasks::nearest;

/// Reads `section.key=value`, and returns the table that a file with this setting has.
///
/// The value is a TOML value. Text needs no quotes where the key takes text, even if it looks like a number.
pub(super) fn parse(setting: &str) -> Result<Table, ConfigError> {
    let missing = || ConfigError::MissingValue {
        given: setting.to_owned(),
    };
    let (key, text) = setting.split_once('=').ok_or_else(missing)?;
    let (key, text) = (key.trim(), text.trim());
    let known = read::keys();
    let Some((section, name)) = key
        .split_once('.')
        .filter(|_| known.iter().any(|it| it == key))
    else {
        return Err(unknown_key(key, known));
    };
    let table_with = |value: Value| {
        let keys = Table::from_iter([(name.to_owned(), value)]);
        Table::from_iter([(section.to_owned(), Value::Table(keys))])
    };
    if text.is_empty() {
        return Err(missing());
    }
    let as_text = table_with(Value::from(text));
    let Some(value) = parsed(text) else {
        return match read::check(&as_text) {
            Ok(()) => Ok(as_text),
            Err(message) => Err(setting_error(
                setting,
                with_remedy(text, message, |value| {
                    read::check(&table_with(value)).is_ok()
                }),
            )),
        };
    };
    let as_value = table_with(value);
    match read::check(&as_value) {
        Ok(()) => Ok(as_value),
        // A folder may be called `2016`: a key that takes text gets text.
        Err(_) if read::check(&as_text).is_ok() => Ok(as_text),
        Err(message) => Err(setting_error(setting, message)),
    }
}

/// Adds the correct TOML spelling to a message, if the value is misspelled in a known way.
fn with_remedy(text: &str, message: String, is_valid: impl Fn(Value) -> bool) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    let before = if digits.starts_with('.') { "0" } else { "" };
    let after = if digits.ends_with('.') { "0" } else { "" };
    let candidates = [
        format!("{sign}{before}{digits}{after}"),
        text.to_lowercase(),
    ];
    let is_correct = |candidate: &&String| {
        let value = parsed(candidate);
        *candidate != text && is_valid(value.unwrap_or_else(|| Value::from(candidate.as_str())))
    };
    match candidates.iter().find(is_correct) {
        Some(candidate) => format!("{message}; write {candidate}"),
        None => message,
    }
}

fn parsed(text: &str) -> Option<Value> {
    let mut table: Table = toml::from_str(&format!("value = {text}")).ok()?;
    let value = table.remove("value")?;
    table.is_empty().then_some(value)
}

fn setting_error(setting: &str, message: String) -> ConfigError {
    if let Some((name, known)) = read::unknown_name(&message) {
        return read::unknown(format!("`--set {setting}`"), name, known);
    }
    ConfigError::InvalidSetting {
        setting: setting.to_owned(),
        message,
    }
}

/// Suggests the key with the same name in a section, or otherwise the most similar one.
fn unknown_key(key: &str, known: Vec<String>) -> ConfigError {
    let name = key.rsplit('.').next().unwrap_or(key);
    let same_name = known
        .iter()
        .find(|known| known.split('.').nth(1) == Some(name));
    let similar = || nearest(key, known.iter().map(String::as_str));
    let names = known.iter().filter_map(|known| known.split('.').nth(1));
    let similar_name = || {
        let found = nearest(name, names)?;
        known
            .iter()
            .find(|known| known.split('.').nth(1) == Some(found))
    };
    let nearest = same_name.map(String::as_str).or_else(similar);
    let nearest = nearest.or_else(|| similar_name().map(String::as_str));
    ConfigError::Unknown {
        location: "`--set`".to_owned(),
        name: key.to_owned(),
        nearest: nearest.map(str::to_owned),
        known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(setting: &str) -> String {
        parse(setting)
            .expect_err("the setting is invalid")
            .to_string()
    }

    #[test]
    fn values_are_toml_values() {
        assert_eq!(
            parse("training.clip_norm = 1.5").ok(),
            Some(toml::toml! { training = { clip_norm = 1.5 } })
        );
    }

    #[test]
    fn text_needs_no_quotes() {
        assert_eq!(
            parse("tokenizer.kind=unigram").ok(),
            Some(toml::toml! { tokenizer = { kind = "unigram" } })
        );
    }

    #[test]
    fn text_may_look_like_a_number() {
        assert_eq!(
            parse("data.src=2016").ok(),
            Some(toml::toml! { data = { src = "2016" } })
        );
    }

    #[test]
    fn text_may_contain_an_equals_sign() {
        assert_eq!(
            parse("data.src=a=b.txt").ok(),
            Some(toml::toml! { data = { src = "a=b.txt" } })
        );
    }

    #[test]
    fn model_settings_are_checked() {
        assert!(
            message("model.d_ff=wide").starts_with("`--set model.d_ff=wide`: invalid type"),
            "{}",
            message("model.d_ff=wide")
        );
    }

    #[test]
    fn unknown_keys_are_refused_with_the_nearest() {
        assert_eq!(
            message("training.warmup_step=5"),
            "`--set`: `training.warmup_step` is unknown here; did you mean `training.warmup_steps`?"
        );
    }

    #[test]
    fn a_key_without_its_section_is_refused_with_the_full_key() {
        assert_eq!(
            message("d_ff=5"),
            "`--set`: `d_ff` is unknown here; did you mean `model.d_ff`?"
        );
    }

    #[test]
    fn text_for_a_number_is_refused() {
        assert_eq!(
            message("training.updates=many"),
            "`--set training.updates=many`: invalid type: string \"many\", expected u64"
        );
    }

    #[test]
    fn unknown_names_are_refused_with_the_nearest() {
        assert_eq!(
            message("tokenizer.kind=bpee"),
            "`--set tokenizer.kind=bpee`: `bpee` is unknown here; did you mean `bpe`?"
        );
    }

    #[test]
    fn a_setting_without_a_value_is_refused() {
        assert_eq!(
            message("training.updates"),
            "`--set training.updates` has no value; write section.key=value, for example \
             training.updates=500"
        );
    }

    #[test]
    fn an_empty_value_is_refused() {
        let message = message("data.src=");
        assert!(
            message.starts_with("`--set data.src=` has no value; write "),
            "{message}"
        );
    }

    #[test]
    fn numbers_misspelled_in_toml_are_refused_with_the_correct_spelling() {
        assert_eq!(
            message("model.dropout=.1"),
            "`--set model.dropout=.1`: invalid type: string \".1\", expected f64; write 0.1"
        );
        assert!(message("model.dropout=1.").ends_with("; write 1.0"));
        assert!(message("training.clip_norm=-.5").ends_with("; write -0.5"));
    }

    #[test]
    fn capitalized_values_are_refused_with_the_correct_spelling() {
        assert!(message("embeddings.rescale=True").ends_with("; write true"));
        assert!(message("training.clip_norm=None").ends_with("; write none"));
    }

    #[test]
    fn none_unsets_the_value_of_a_task() {
        assert_eq!(
            parse("tokenizer.tgt_kind=none").ok(),
            Some(toml::toml! { tokenizer = { tgt_kind = "none" } })
        );
        assert!(parse("model.d_k=none").is_ok());
    }

    #[test]
    fn one_argument_cannot_set_two_keys() {
        let message = message("training.updates=5\nseed=3");
        assert!(message.contains("invalid type: string"), "{message}");
    }
}
