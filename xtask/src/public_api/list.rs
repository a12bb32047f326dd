//! [`PublicApi`]: all that programs can use of a library.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use syn::{Item, Type};

use super::items::{impl_lines, lines};
use super::modules::{Modules, attributes, has_condition};
use super::paths::{Declared, Paths, resolve};

/// What programs can use of a library.
pub(super) struct PublicApi {
    /// One line for each item, sorted.
    pub(super) lines: BTreeSet<String>,
    /// The kind and the name of each item with a page of its own in rustdoc, and whether all builds have it.
    pub(super) pages: BTreeSet<(String, String, bool)>,
}

impl PublicApi {
    /// Reads the sources of a library.
    pub(super) fn read(folder: &Path, name: &str) -> Result<Self> {
        let modules = Modules::read(folder)?;
        let paths = Paths::of(&modules, name);
        let mut found = Self {
            lines: paths
                .modules
                .iter()
                .map(|path| format!("pub mod {path}"))
                .collect(),
            pages: BTreeSet::new(),
        };
        for (path, foreign) in &paths.foreign {
            found.lines.insert(format!("pub use {path} = {foreign}"));
        }
        for ((module, name), public) in &paths.of {
            let (path, others) = (&public[0], &public[1..]);
            for other in others {
                found.lines.insert(format!("pub use {other} = {path}"));
            }
            for item in &modules.0[*module].items {
                if kind_and_name(item).is_some_and(|(_, it)| it == *name) {
                    found.lines.extend(lines(item, path));
                    found.add_page(item, modules.0[*module].is_conditional);
                }
            }
        }
        for (module, contents) in modules.0.iter().enumerate() {
            for block in contents.items.iter().filter_map(|item| match item {
                Item::Impl(block) => Some(block),
                _ => None,
            }) {
                let of_type = named(&block.self_ty).and_then(|it| resolve(&modules, module, &it));
                let of_trait = block.trait_.as_ref().map(|(path, _)| names(path));
                let of_trait = of_trait.and_then(|it| resolve(&modules, module, &it));
                let public = |item: &Option<Declared>| {
                    item.as_ref()
                        .and_then(|item| paths.shortest(item))
                        .map(str::to_owned)
                };
                // A private type of this library is nobody else's, whatever it implements.
                let path = match (&of_type, public(&of_type), public(&of_trait)) {
                    (_, Some(path), _) => path,
                    (None, None, Some(path)) => path,
                    _ => continue,
                };
                found.lines.extend(impl_lines(block, &path));
            }
        }
        Ok(found)
    }

    fn add_page(&mut self, item: &Item, is_conditional: bool) {
        if let Some((kind, name)) = kind_and_name(item) {
            let everywhere = !is_conditional && !has_condition(attributes(item));
            self.pages.insert((kind.to_owned(), name, everywhere));
        }
    }
}

/// Returns the kind of an item, as rustdoc names its page, and its name.
fn kind_and_name(item: &Item) -> Option<(&'static str, String)> {
    let (kind, ident) = match item {
        Item::Const(it) => ("constant", &it.ident),
        Item::Enum(it) => ("enum", &it.ident),
        Item::Fn(it) => ("fn", &it.sig.ident),
        Item::Static(it) => ("static", &it.ident),
        Item::Struct(it) => ("struct", &it.ident),
        Item::Trait(it) => ("trait", &it.ident),
        Item::Type(it) => ("type", &it.ident),
        _ => return None,
    };
    Some((kind, ident.to_string()))
}

/// Returns the names of the path of a type, if it has one.
fn named(of: &Type) -> Option<Vec<String>> {
    match of {
        Type::Path(it) if it.qself.is_none() => Some(names(&it.path)),
        _ => None,
    }
}

fn names(path: &syn::Path) -> Vec<String> {
    path.segments
        .iter()
        .map(|it| it.ident.to_string())
        .collect()
}
