//! One setting on the command line: `section.key=value`, as strict as a file.

use toml::{Table, Value};

use crate::config::{ConfigError, documented, nearest, read};

/// Reads `section.key=value` into the table of a file that would say the same.
///
/// The value is one of TOML. Text where the key wants text needs no quotes, be it like a number or not.
pub(super) fn table(setting: &str) -> Result<Table, ConfigError> {
    let Some((key, text)) = setting.split_once('=') else {
        return Err(ConfigError::NoSetting {
            given: setting.to_owned(),
        });
    };
    let (key, text) = (key.trim(), text.trim());
    let known = documented::keys();
    let Some((section, name)) = key.split_once('.').filter(|_| is_known(&known, key)) else {
        return Err(unknown_key(key, known));
    };
    let of = |value: Value| {
        let keys = Table::from_iter([(name.to_owned(), value)]);
        Table::from_iter([(section.to_owned(), Value::Table(keys))])
    };
    if text.is_empty() {
        let given = setting.to_owned();
        return Err(ConfigError::NoSetting { given });
    }
    let as_text = of(Value::from(text));
    let Some(value) = parsed(text) else {
        return match read::check(&as_text) {
            Ok(()) => Ok(as_text),
            Err(message) => Err(wrong(
                setting,
                with_remedy(text, message, |value| read::check(&of(value)).is_ok()),
            )),
        };
    };
    let as_value = of(value);
    match read::check(&as_value) {
        Ok(()) => Ok(as_value),
        // A folder may be called `2016`, and a key that wants text then gets text.
        Err(_) if read::check(&as_text).is_ok() => Ok(as_text),
        Err(message) => Err(wrong(setting, message)),
    }
}

/// Adds to a message how TOML writes what seems to be meant, if the key takes that.
fn with_remedy(text: &str, message: String, takes: impl Fn(Value) -> bool) -> String {
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
    let is_taken = |candidate: &&String| {
        let value = parsed(candidate);
        *candidate != text && takes(value.unwrap_or_else(|| Value::from(candidate.as_str())))
    };
    match candidates.iter().find(is_taken) {
        Some(candidate) => format!("{message}; write {candidate}"),
        None => message,
    }
}

/// Reads the text as the value of a TOML file, if it is one.
fn parsed(text: &str) -> Option<Value> {
    let mut table: Table = toml::from_str(&format!("value = {text}")).ok()?;
    let value = table.remove("value")?;
    table.is_empty().then_some(value)
}

fn is_known(known: &[String], key: &str) -> bool {
    known.iter().any(|known| known == key)
}

fn wrong(setting: &str, message: String) -> ConfigError {
    if let Some((name, known)) = read::unknown_name(&message) {
        return read::unknown(format!("`--set {setting}`"), name, known);
    }
    ConfigError::Setting {
        setting: setting.to_owned(),
        message,
    }
}

/// Names the key that may have been meant: one of the same name in a section, or one that is alike.
fn unknown_key(key: &str, known: Vec<String>) -> ConfigError {
    let name = key.rsplit('.').next().unwrap_or(key);
    let same_name = known
        .iter()
        .find(|known| known.split('.').nth(1) == Some(name));
    let alike = || nearest(key, known.iter().map(String::as_str));
    let names = known.iter().filter_map(|known| known.split('.').nth(1));
    let alike_name = || {
        let found = nearest(name, names)?;
        known
            .iter()
            .find(|known| known.split('.').nth(1) == Some(found))
    };
    let meant = same_name
        .map(String::as_str)
        .or_else(alike)
        .or_else(|| alike_name().map(String::as_str));
    ConfigError::Unknown {
        place: "`--set`".to_owned(),
        name: key.to_owned(),
        nearest: meant.map(str::to_owned),
        known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(setting: &str) -> String {
        table(setting)
            .expect_err("the setting is wrong")
            .to_string()
    }

    #[test]
    fn values_are_those_of_toml() {
        assert_eq!(
            table("training.clip_norm = 1.5").ok(),
            Some(toml::toml! { training = { clip_norm = 1.5 } })
        );
    }

    #[test]
    fn text_needs_no_quotes() {
        assert_eq!(
            table("tokenizer.kind=unigram").ok(),
            Some(toml::toml! { tokenizer = { kind = "unigram" } })
        );
    }

    #[test]
    fn text_may_look_like_a_number() {
        assert_eq!(
            table("data.src=2016").ok(),
            Some(toml::toml! { data = { src = "2016" } })
        );
    }

    #[test]
    fn text_may_contain_what_divides_a_setting() {
        assert_eq!(
            table("data.src=a=b.txt").ok(),
            Some(toml::toml! { data = { src = "a=b.txt" } })
        );
    }

    #[test]
    fn settings_of_the_model_are_checked() {
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
            "`--set`: `training.warmup_step` is not known here; did you mean `training.warmup_steps`?"
        );
    }

    #[test]
    fn a_key_without_its_section_is_refused_with_both() {
        assert_eq!(
            message("d_ff=5"),
            "`--set`: `d_ff` is not known here; did you mean `model.d_ff`?"
        );
    }

    #[test]
    fn words_in_place_of_numbers_are_refused() {
        assert_eq!(
            message("training.updates=many"),
            "`--set training.updates=many`: invalid type: string \"many\", expected u64"
        );
    }

    #[test]
    fn unknown_names_are_refused_with_the_nearest() {
        assert_eq!(
            message("tokenizer.kind=bpee"),
            "`--set tokenizer.kind=bpee`: `bpee` is not known here; did you mean `bpe`?"
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
    fn numbers_that_toml_writes_otherwise_are_refused_with_its_form() {
        assert_eq!(
            message("model.dropout=.1"),
            "`--set model.dropout=.1`: invalid type: string \".1\", expected f64; write 0.1"
        );
        assert!(message("model.dropout=1.").ends_with("; write 1.0"));
        assert!(message("training.clip_norm=-.5").ends_with("; write -0.5"));
    }

    #[test]
    fn names_in_capitals_are_refused_with_the_form_of_toml() {
        assert!(message("embeddings.rescale=True").ends_with("; write true"));
        assert!(message("training.clip_norm=None").ends_with("; write none"));
    }

    #[test]
    fn what_a_task_sets_is_taken_back_with_none() {
        assert_eq!(
            table("tokenizer.tgt_kind=none").ok(),
            Some(toml::toml! { tokenizer = { tgt_kind = "none" } })
        );
        assert!(table("model.d_k=none").is_ok());
    }

    #[test]
    fn one_setting_is_not_two() {
        let message = message("training.updates=5\nseed=3");
        assert!(message.contains("invalid type: string"), "{message}");
    }
}
