//! [`Types`]: the structs and enums that the settings are made of, read from the source code.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Fields, GenericArgument, Item, Lit, Meta, PathArguments, Token, Type};

/// The folders whose types a setting may have. A name in several of them means the type in the
/// first.
const FOLDERS: [&str; 4] = [
    "transformer-train/src",
    "transformer-infer/search/src",
    "transformer-core/src",
    "transformer-core/text/src",
];

/// The types that can be read from a file, of each folder.
pub(super) struct Types(Vec<Vec<Item>>);

/// A public field of a struct.
#[derive(Debug, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    /// Its doc comment, as one paragraph.
    pub(super) meaning: String,
    /// The last part of its type's path, without `Option` and `Vec`.
    pub(super) type_name: String,
    /// Whether it is an `Option`.
    pub(super) is_option: bool,
    /// Whether it is a `Vec`.
    pub(super) is_list: bool,
    /// The arguments of `#[serde(…)]` that are names, and those that have a value.
    pub(super) serde: Vec<(String, Option<String>)>,
}

/// A variant of an enum.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    /// As it is written in a file.
    pub(crate) name: String,
    /// Its doc comment, as one paragraph.
    pub(crate) meaning: String,
}

impl Types {
    /// Reads every type that derives `Deserialize`.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let read = |folder| {
            let mut items = Vec::new();
            for path in rust_files(&root.join(folder))? {
                let text = fs::read_to_string(&path)
                    .with_context(|| format!("cannot read `{}`", path.display()))?;
                let found = items_of(&text)
                    .with_context(|| format!("cannot parse `{}`", path.display()))?;
                items.extend(found);
            }
            Ok(items)
        };
        FOLDERS
            .into_iter()
            .map(read)
            .collect::<Result<_>>()
            .map(Self)
    }

    /// Returns what `choose` finds under a name, in the first folder that has it.
    fn find<'a, T>(
        &'a self,
        name: &str,
        choose: impl Fn(&'a Item) -> Option<&'a T>,
    ) -> Result<&'a T> {
        for items in &self.0 {
            let found: Vec<&T> = items.iter().filter_map(&choose).collect();
            match found.as_slice() {
                [] => {}
                [found] => return Ok(found),
                all => bail!("`{name}` names {} types of one folder", all.len()),
            }
        }
        bail!(
            "no type `{name}` derives Deserialize in {}",
            FOLDERS.join(", ")
        )
    }

    /// Returns the public fields of a struct.
    pub(super) fn fields(&self, name: &str) -> Result<Vec<Field>> {
        let found = self.find(name, |item| match item {
            Item::Struct(item) if item.ident == name => Some(item),
            _ => None,
        })?;
        let Fields::Named(fields) = &found.fields else {
            bail!("the fields of `{name}` have no names");
        };
        fields.named.iter().map(field).collect()
    }

    /// Returns the variants of an enum, by the names that serde gives them.
    pub(super) fn choices(&self, name: &str) -> Result<Vec<Choice>> {
        let found = self.find(name, |item| match item {
            Item::Enum(item) if item.ident == name => Some(item),
            _ => None,
        })?;
        let rule = value_of(&serde_arguments(&found.attrs)?, "rename_all");
        let choice = |variant: &syn::Variant| {
            let own = value_of(&serde_arguments(&variant.attrs)?, "rename");
            let name = match own {
                Some(name) => name,
                None => renamed(&variant.ident.to_string(), rule.as_deref())?,
            };
            let meaning = doc(&variant.attrs)?;
            Ok(Choice { name, meaning })
        };
        found.variants.iter().map(choice).collect()
    }
}

impl Field {
    /// Returns the value of an argument of `#[serde(…)]`.
    pub(super) fn serde_value(&self, name: &str) -> Option<String> {
        value_of(&self.serde, name)
    }

    /// Whether `#[serde(…)]` has this argument.
    pub(super) fn has_serde(&self, name: &str) -> bool {
        self.serde.iter().any(|(argument, _)| argument == name)
    }
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

/// Returns the types of a source text that derive `Deserialize`.
fn items_of(text: &str) -> syn::Result<Vec<Item>> {
    // Parsing is slow, and few files have settings.
    if !text.contains("Deserialize") {
        return Ok(Vec::new());
    }
    let items = syn::parse_file(text)?.items.into_iter();
    let is_read = |item: &Item| match item {
        Item::Struct(item) => derives_deserialize(&item.attrs),
        Item::Enum(item) => derives_deserialize(&item.attrs),
        _ => false,
    };
    Ok(items.filter(is_read).collect())
}

fn field(field: &syn::Field) -> Result<Field> {
    let name = field.ident.as_ref().context("a field has no name")?;
    let (outer, inner) = last_of(&field.ty)?;
    let is_wrapped = outer == "Option" || outer == "Vec";
    let type_name = match inner {
        Some(inner) if is_wrapped => last_of(inner)?.0,
        _ => outer.clone(),
    };
    Ok(Field {
        name: name.to_string(),
        meaning: doc(&field.attrs)?,
        type_name,
        is_option: outer == "Option",
        is_list: outer == "Vec",
        serde: serde_arguments(&field.attrs)?,
    })
}

/// Returns the last name of a type's path, and its first generic argument.
fn last_of(ty: &Type) -> Result<(String, Option<&Type>)> {
    let Type::Path(path) = ty else {
        bail!("a setting's type is not a path");
    };
    let last = path.path.segments.last().context("a path has a name")?;
    let argument = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => {
            arguments.args.iter().find_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            })
        }
        _ => None,
    };
    Ok((last.ident.to_string(), argument))
}

fn derives_deserialize(attributes: &[Attribute]) -> bool {
    let mut derives = attributes.iter().filter(|it| it.path().is_ident("derive"));
    derives.any(|derive| {
        let paths = derive.parse_args_with(Punctuated::<syn::Path, Token![,]>::parse_terminated);
        paths.is_ok_and(|paths| paths.iter().any(|path| path.is_ident("Deserialize")))
    })
}

/// Returns the arguments of every `#[serde(…)]`, with their values if these are text.
fn serde_arguments(attributes: &[Attribute]) -> Result<Vec<(String, Option<String>)>> {
    let mut arguments = Vec::new();
    for attribute in attributes.iter().filter(|it| it.path().is_ident("serde")) {
        let metas = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
        for meta in metas {
            let name = meta.path().require_ident()?.to_string();
            let value = match &meta {
                Meta::NameValue(pair) => text_of(&pair.value),
                Meta::Path(_) | Meta::List(_) => None,
            };
            arguments.push((name, value));
        }
    }
    Ok(arguments)
}

fn value_of(arguments: &[(String, Option<String>)], name: &str) -> Option<String> {
    let mut found = arguments.iter().filter(|(argument, _)| argument == name);
    found.next().and_then(|(_, value)| value.clone())
}

fn text_of(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a doc comment as one paragraph, with the names of links in their place.
fn doc(attributes: &[Attribute]) -> Result<String> {
    let mut words = Vec::new();
    for attribute in attributes.iter().filter(|it| it.path().is_ident("doc")) {
        if let Meta::NameValue(pair) = &attribute.meta
            && let Some(line) = text_of(&pair.value)
        {
            words.extend(line.split_whitespace().map(str::to_owned));
        }
    }
    let text = words.join(" ");
    ensure!(
        !text.contains("`]("),
        "links of settings have no target, only [`Name`]: {text}"
    );
    Ok(text.replace("[`", "`").replace("`]", "`"))
}

/// Writes the name of a variant as serde's `rename_all` does.
fn renamed(variant: &str, rule: Option<&str>) -> Result<String> {
    let separated = |separator: char| {
        let mut name = String::new();
        for (index, letter) in variant.char_indices() {
            if index > 0 && letter.is_ascii_uppercase() {
                name.push(separator);
            }
            name.push(letter.to_ascii_lowercase());
        }
        name
    };
    Ok(match rule {
        None => variant.to_owned(),
        Some("lowercase") => variant.to_lowercase(),
        Some("snake_case") => separated('_'),
        Some("kebab-case") => separated('-'),
        Some(rule) => bail!("`rename_all = \"{rule}\"` is not known here; add it to `renamed`"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
        #[derive(Clone, Deserialize)]
        pub struct Settings {
            /// A file, or a
            /// [`Folder`]. Default: none.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub path: Option<std::path::PathBuf>,
            /// The corpora.
            pub corpora: Vec<Corpus>,
        }

        #[derive(Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Kind {
            /// By the root.
            InverseSqrt,
            #[serde(rename = "13a")]
            V13a,
        }

        pub enum Kind2 {}
    "#;

    fn types() -> Types {
        Types(vec![items_of(SOURCE).expect("the source is Rust")])
    }

    #[test]
    fn fields_have_their_names_types_and_doc_comments() {
        let fields = types().fields("Settings").expect("there is one");
        let [path, corpora] = fields.as_slice() else {
            panic!("there are two fields");
        };
        assert_eq!(
            (path.name.as_str(), path.type_name.as_str()),
            ("path", "PathBuf")
        );
        assert_eq!(path.meaning, "A file, or a `Folder`. Default: none.");
        assert!(path.is_option && path.has_serde("skip_serializing_if"));
        assert_eq!(
            (corpora.is_list, corpora.type_name.as_str()),
            (true, "Corpus")
        );
    }

    #[test]
    fn variants_have_the_names_that_serde_gives_them() {
        let choices = types().choices("Kind").expect("there is one");
        let names: Vec<&str> = choices.iter().map(|choice| choice.name.as_str()).collect();
        assert_eq!(names, ["inverse-sqrt", "13a"]);
        assert_eq!(choices[0].meaning, "By the root.");
    }

    #[test]
    fn types_that_are_not_read_from_files_do_not_count() {
        assert!(types().choices("Kind2").is_err());
    }
}
