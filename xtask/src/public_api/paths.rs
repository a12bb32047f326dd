//! [`Paths`]: under which paths a program finds the public items of a library.

use std::collections::{BTreeMap, BTreeSet};

use syn::Item;

use super::modules::{Modules, is_public};

/// An item by the module that declares it, and its name.
pub(super) type Declared = (usize, String);

/// The public paths of a library.
#[derive(Default)]
pub(super) struct Paths {
    /// Of each public item, the shortest path first.
    pub(super) of: BTreeMap<Declared, Vec<String>>,
    /// The public modules.
    pub(super) modules: BTreeSet<String>,
    /// What is exported of other crates: the path here, and that in the other crate.
    pub(super) foreign: BTreeSet<(String, String)>,
}

/// What a path leads to.
enum Target {
    Module(usize),
    Item(Declared),
    /// Something of another crate.
    Foreign(String),
}

impl Paths {
    /// Finds the paths of a library with this name.
    pub(super) fn of(modules: &Modules, name: &str) -> Self {
        let mut paths = Self::default();
        paths.visit(modules, 0, name);
        for paths in paths.of.values_mut() {
            paths.sort_by_key(|path| (path.matches("::").count(), path.clone()));
            paths.dedup();
        }
        paths
    }

    /// Returns the path that an item is listed under, if it is public.
    pub(super) fn shortest(&self, item: &Declared) -> Option<&str> {
        Some(self.of.get(item)?.first()?)
    }

    fn visit(&mut self, modules: &Modules, index: usize, prefix: &str) {
        if !self.modules.insert(prefix.to_owned()) {
            return;
        }
        let module = &modules.0[index];
        for name in module.items.iter().filter_map(public_name) {
            self.add((index, name.clone()), format!("{prefix}::{name}"));
        }
        for (name, (child, is_public)) in &module.children {
            if *is_public {
                self.visit(modules, *child, &format!("{prefix}::{name}"));
            }
        }
        for import in module.imports.iter().filter(|import| import.is_public) {
            let path = format!("{prefix}::{}", import.name);
            match target(modules, index, &import.path, 0) {
                Target::Module(child) => self.visit(modules, child, &path),
                Target::Item(item) => self.add(item, path),
                Target::Foreign(foreign) => drop(self.foreign.insert((path, foreign))),
            }
        }
    }

    fn add(&mut self, item: Declared, path: String) {
        self.of.entry(item).or_default().push(path);
    }
}

/// Returns the item that a path in a module leads to, unless it is of another crate.
pub(super) fn resolve(modules: &Modules, module: usize, path: &[String]) -> Option<Declared> {
    match target(modules, module, path, 0) {
        Target::Item(item) => Some(item),
        Target::Module(_) | Target::Foreign(_) => None,
    }
}

/// Follows a path; `depth` bounds circles of imports.
fn target(modules: &Modules, module: usize, path: &[String], depth: usize) -> Target {
    let foreign = || Target::Foreign(path.join("::"));
    let mut at = module;
    let mut names = path.iter().peekable();
    while let Some(name) = names.next() {
        let here = &modules.0[at];
        let is_last = names.peek().is_none();
        match name.as_str() {
            "crate" => at = 0,
            "self" => {}
            "super" => at = here.parent.unwrap_or(0),
            name if is_last && declares(modules, at, name) => {
                return Target::Item((at, name.to_owned()));
            }
            name => {
                if let Some((child, _)) = here.children.get(name) {
                    at = *child;
                    continue;
                }
                let import = here.imports.iter().find(|import| import.name == name);
                // An import of the same name is of another crate: it does not lead to itself.
                let Some(import) = import.filter(|it| depth < 16 && it.path != path) else {
                    return foreign();
                };
                match target(modules, at, &import.path, depth + 1) {
                    Target::Module(child) => at = child,
                    found if is_last => return found,
                    _ => return foreign(),
                }
            }
        }
    }
    Target::Module(at)
}

fn declares(modules: &Modules, module: usize, name: &str) -> bool {
    let items = &modules.0[module].items;
    items
        .iter()
        .any(|item| declared_name(item).as_deref() == Some(name))
}

/// Returns the name of a public item; a macro is public if it is exported.
fn public_name(item: &Item) -> Option<String> {
    let is_public = match item {
        Item::Const(it) => is_public(&it.vis),
        Item::Enum(it) => is_public(&it.vis),
        Item::Fn(it) => is_public(&it.vis),
        Item::Static(it) => is_public(&it.vis),
        Item::Struct(it) => is_public(&it.vis),
        Item::Trait(it) => is_public(&it.vis),
        Item::Type(it) => is_public(&it.vis),
        _ => false,
    };
    declared_name(item).filter(|_| is_public)
}

fn declared_name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(it) => &it.ident,
        Item::Enum(it) => &it.ident,
        Item::Fn(it) => &it.sig.ident,
        Item::Static(it) => &it.ident,
        Item::Struct(it) => &it.ident,
        Item::Trait(it) => &it.ident,
        Item::Type(it) => &it.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use anyhow::Result;

    use super::*;

    #[test]
    fn a_reexport_gives_a_private_module_s_item_a_public_path() -> Result<()> {
        let folder = tempfile::tempdir()?;
        fs::write(
            folder.path().join("lib.rs"),
            "mod inner { pub struct A; pub struct B; struct C; }\n\
             pub mod outer { pub use crate::inner::A as Renamed; pub use other::D; }\n\
             pub use inner::A;",
        )?;
        let modules = Modules::read(folder.path())?;
        let paths = Paths::of(&modules, "it");
        let found: Vec<&Vec<String>> = paths.of.values().collect();
        assert_eq!(found, [&["it::A", "it::outer::Renamed"]]);
        let foreign = ("it::outer::D".to_owned(), "other::D".to_owned());
        assert_eq!(paths.foreign, BTreeSet::from([foreign]));
        Ok(())
    }
}
