//! The lines of one item: its declaration, its fields, its variants and its functions.

use quote::ToTokens;
use syn::{Attribute, Fields, ImplItem, Item, ItemImpl, Meta, TraitItem};

use super::modules::is_public;
use super::text::text;

/// Returns the lines of an item that programs find under a path.
pub(super) fn lines(item: &Item, path: &str) -> Vec<String> {
    match item {
        Item::Const(it) => vec![format!("pub const {path}: {}", text(&it.ty))],
        Item::Static(it) => vec![format!("pub static {path}: {}", text(&it.ty))],
        Item::Type(it) => {
            let generics = text(&it.generics);
            vec![format!("pub type {path}{generics} = {}", text(&it.ty))]
        }
        Item::Fn(it) => vec![function(path, &it.sig)],
        Item::Struct(it) => {
            let mut lines = vec![head("struct", path, &it.generics, &it.attrs)];
            lines.extend(derives(path, &it.attrs));
            lines.extend(fields(path, &it.fields, false));
            lines
        }
        Item::Enum(it) => {
            let mut lines = vec![head("enum", path, &it.generics, &it.attrs)];
            lines.extend(derives(path, &it.attrs));
            for variant in &it.variants {
                let path = format!("{path}::{}", variant.ident);
                lines.push(format!("pub variant {path}"));
                lines.extend(fields(&path, &variant.fields, true));
            }
            lines
        }
        Item::Trait(it) => {
            let bounds = text(&it.supertraits);
            let bounds = if bounds.is_empty() {
                bounds
            } else {
                format!(": {bounds}")
            };
            let mut lines = vec![format!("pub trait {path}{}{bounds}", text(&it.generics))];
            lines.extend(it.items.iter().filter_map(|item| trait_item(path, item)));
            lines
        }
        _ => Vec::new(),
    }
}

/// Returns the line of `impl Trait for …`, or the lines of the public members of `impl …`.
pub(super) fn impl_lines(block: &ItemImpl, path: &str) -> Vec<String> {
    if let Some((implemented, _)) = &block.trait_ {
        let (implemented, self_type) = (text(implemented), text(&block.self_ty));
        let line = format!("impl{} {implemented} for {path}", text(&block.generics));
        // The name alone says nothing more than the path.
        return vec![match path.ends_with(&format!("::{self_type}")) {
            true => line,
            false => format!("{line} ({self_type})"),
        }];
    }
    let member = |item: &ImplItem| match item {
        ImplItem::Fn(it) if is_public(&it.vis) => {
            Some(function(&format!("{path}::{}", it.sig.ident), &it.sig))
        }
        ImplItem::Const(it) if is_public(&it.vis) => {
            Some(format!("pub const {path}::{}: {}", it.ident, text(&it.ty)))
        }
        _ => None,
    };
    block.items.iter().filter_map(member).collect()
}

fn trait_item(path: &str, item: &TraitItem) -> Option<String> {
    Some(match item {
        TraitItem::Fn(it) => {
            let provided = if it.default.is_some() {
                " (provided)"
            } else {
                ""
            };
            let line = function(&format!("{path}::{}", it.sig.ident), &it.sig);
            format!("{line}{provided}")
        }
        TraitItem::Const(it) => format!("pub const {path}::{}: {}", it.ident, text(&it.ty)),
        TraitItem::Type(it) => format!("pub type {path}::{}", it.ident),
        _ => return None,
    })
}

/// Returns a function with its path in place of its name.
fn function(path: &str, signature: &syn::Signature) -> String {
    let whole = text(signature);
    let name = format!("fn {}", signature.ident);
    format!("pub {}", whole.replacen(&name, &format!("fn {path}"), 1))
}

fn head(kind: &str, path: &str, generics: &impl ToTokens, attributes: &[Attribute]) -> String {
    let is_open = attributes
        .iter()
        .any(|it| it.path().is_ident("non_exhaustive"));
    let open = if is_open { ", non-exhaustive" } else { "" };
    format!("pub {kind} {path}{}{open}", text(generics))
}

/// Returns a line with the derived traits.
fn derives(path: &str, attributes: &[Attribute]) -> Option<String> {
    let lists = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::List(list) if list.path.is_ident("derive") => Some(text(&list.tokens)),
            _ => None,
        });
    let lists: Vec<String> = lists.collect();
    let mut names: Vec<&str> = lists.iter().flat_map(|list| list.split(", ")).collect();
    names.sort_unstable();
    (!names.is_empty()).then(|| format!("derive for {path}: {}", names.join(", ")))
}

/// Returns the public fields; those of a variant are all public.
fn fields(path: &str, fields: &Fields, of_variant: bool) -> Vec<String> {
    let public = fields
        .iter()
        .enumerate()
        .filter(|(_, it)| of_variant || is_public(&it.vis));
    let line = |(index, field): (usize, &syn::Field)| {
        let name = field
            .ident
            .as_ref()
            .map_or_else(|| index.to_string(), ToString::to_string);
        format!("pub field {path}::{name}: {}", text(&field.ty))
    };
    public.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_enum_lists_its_traits_variants_and_fields() {
        let source =
            "#[derive(Clone, Debug)] #[non_exhaustive] pub enum E { A, B { size: usize }, C(u8) }";
        let item: Item = syn::parse_str(source).expect("it is an item");
        let expected = [
            "pub enum it::E, non-exhaustive",
            "derive for it::E: Clone, Debug",
            "pub variant it::E::A",
            "pub variant it::E::B",
            "pub field it::E::B::size: usize",
            "pub variant it::E::C",
            "pub field it::E::C::0: u8",
        ];
        assert_eq!(lines(&item, "it::E"), expected);
    }

    #[test]
    fn private_members_are_not_listed() {
        let source = "impl<T> S<T> { pub fn a(&self) -> T {} fn b() {} pub(crate) fn c() {} }";
        let block: ItemImpl = syn::parse_str(source).expect("it is a block");
        assert_eq!(impl_lines(&block, "it::S"), ["pub fn it::S::a(&self) -> T"]);
    }
}
