//! [`Section`]: the sections of a file of settings and their keys.

use anyhow::{Context, Result};

use super::types::{Choice, Field, Types};

/// The struct whose fields are the sections.
const EXPERIMENT: &str = "Experiment";

/// The struct whose fields `[model]` takes beside its own.
const MODEL: &str = "TransformerConfig";

/// The fields of the model that come from the text and cannot be set.
const FROM_TEXT: [&str; 2] = ["src_vocab_size", "tgt_vocab_size"];

/// A section, for example `[training]`.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) meaning: String,
    pub(crate) keys: Vec<Key>,
}

/// A key of a section.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) meaning: String,
    pub(crate) values: Values,
    /// Whether `"none"` unsets the key.
    pub(crate) takes_none: bool,
    /// Whether a file that has every setting in effect may lack the key.
    pub(crate) may_be_absent: bool,
}

/// The values that a key takes.
#[derive(Debug)]
pub(crate) enum Values {
    /// `true` or `false`.
    Bool,
    /// A whole number, not negative.
    Count,
    /// A number.
    Number,
    /// The path of a file or folder.
    Path,
    /// The code of a language.
    Language,
    /// A command line.
    Command,
    /// Text or a number, read by a function of its own.
    TextOrNumber,
    /// One of several names.
    OneOf(Vec<Choice>),
    /// A text.
    Text,
    /// A list of texts.
    Texts,
    /// A list of names.
    SomeOf(Vec<Choice>),
    /// A list of tables with these keys.
    Tables(Vec<Key>),
}

impl Section {
    /// Returns all sections, in the order of the struct.
    pub(super) fn all(types: &Types) -> Result<Vec<Self>> {
        let sections = types.fields(EXPERIMENT)?.into_iter();
        sections.map(|field| Self::of(field, types)).collect()
    }

    fn of(section: Field, types: &Types) -> Result<Self> {
        let mut keys = Vec::new();
        for field in types.fields(&section.type_name)? {
            if field.has_serde("flatten") {
                let model = types.fields(MODEL)?.into_iter();
                let model = model.filter(|field| !FROM_TEXT.contains(&field.name.as_str()));
                for field in model {
                    let takes_none = field.is_option;
                    keys.push(Key {
                        takes_none,
                        ..Key::of(field, types)?
                    });
                }
            } else {
                keys.push(Key::of(field, types)?);
            }
        }
        let Field { name, meaning, .. } = section;
        Ok(Self {
            name,
            meaning,
            keys,
        })
    }
}

impl Key {
    fn of(field: Field, types: &Types) -> Result<Self> {
        let values = Values::of(&field, types)
            .with_context(|| format!("the type of the setting `{}`", field.name))?;
        Ok(Self {
            takes_none: field
                .serde_value("with")
                .is_some_and(|with| with == "optional"),
            may_be_absent: field.has_serde("skip_serializing_if"),
            name: field.name,
            meaning: field.meaning,
            values,
        })
    }

    /// Returns a value of a key that may be absent, in TOML.
    pub(crate) fn example(&self) -> Option<String> {
        self.may_be_absent.then(|| self.value())
    }

    fn value(&self) -> String {
        match &self.values {
            _ if self.takes_none => "\"none\"".to_owned(),
            Values::Bool => "true".to_owned(),
            Values::Count => "1".to_owned(),
            Values::Number => "1.0".to_owned(),
            Values::Path => "\"FILE\"".to_owned(),
            Values::Language => "\"en\"".to_owned(),
            Values::Command => "\"PROGRAM {hyp}\"".to_owned(),
            Values::TextOrNumber => "\"TEXT\"".to_owned(),
            Values::OneOf(choices) => {
                let first = choices.first().map_or("", |choice| choice.name.as_str());
                format!("\"{first}\"")
            }
            Values::Text => "\"TEXT\"".to_owned(),
            Values::Texts => "[\"TEXT\"]".to_owned(),
            Values::SomeOf(choices) => {
                let first = choices.first().map_or("", |choice| choice.name.as_str());
                format!("[\"{first}\"]")
            }
            Values::Tables(keys) => {
                // `tsv` excludes the two files before it.
                let keys = keys.iter().filter(|key| !key.name.ends_with("tsv"));
                let pairs = keys.map(|key| format!("{} = {}", key.name, key.value()));
                format!("[{{ {} }}]", pairs.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl Values {
    fn of(field: &Field, types: &Types) -> Result<Self> {
        if field.is_list && field.type_name == "String" {
            return Ok(Self::Texts);
        }
        if field.is_list {
            if let Ok(choices) = types.choices(&field.type_name) {
                return Ok(Self::SomeOf(choices));
            }
            let fields = types.fields(&field.type_name)?.into_iter();
            let keys = fields.map(|field| Key::of(field, types));
            return Ok(Self::Tables(keys.collect::<Result<_>>()?));
        }
        Ok(match field.type_name.as_str() {
            "bool" => Self::Bool,
            "u64" | "usize" => Self::Count,
            "f64" => Self::Number,
            "PathBuf" => Self::Path,
            "String" => Self::Text,
            "LanguageCode" => Self::Language,
            "ScoreCommand" => Self::Command,
            "LengthPenalty" => Self::TextOrNumber,
            name => Self::OneOf(types.choices(name)?),
        })
    }
}
