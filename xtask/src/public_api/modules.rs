//! [`Modules`]: the modules of a library and what each of them contains, read from its sources.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use syn::{Attribute, Item, Meta, UseTree, Visibility};

/// The modules of a library; the first is its root.
#[derive(Default)]
pub(super) struct Modules(pub(super) Vec<Module>);

/// A module.
#[derive(Default)]
pub(super) struct Module {
    pub(super) parent: Option<usize>,
    /// The modules in it, with whether they are public. Of modules for different builds, the first is found.
    pub(super) children: BTreeMap<String, (usize, bool)>,
    /// What it contains besides modules and imports.
    pub(super) items: Vec<Item>,
    pub(super) imports: Vec<Import>,
    /// Whether only some builds have it.
    pub(super) is_conditional: bool,
}

/// A name that a `use` brings into a module.
pub(super) struct Import {
    pub(super) name: String,
    pub(super) path: Vec<String>,
    pub(super) is_public: bool,
}

impl Modules {
    /// Reads a library, given the folder of its sources.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let mut modules = Self::default();
        let items = items_of(&folder.join("lib.rs"))?;
        modules.add(None, items, folder, false)?;
        Ok(modules)
    }

    /// Adds a module; `folder` contains the files of the modules in it.
    fn add(
        &mut self,
        parent: Option<usize>,
        items: Vec<Item>,
        folder: &Path,
        is_conditional: bool,
    ) -> Result<usize> {
        let index = self.0.len();
        self.0.push(Module {
            parent,
            is_conditional,
            ..Module::default()
        });
        for item in items {
            match item {
                item if is_for_tests(attributes(&item)) => {}
                Item::Mod(module) => {
                    let name = module.ident.to_string();
                    let is_conditional = is_conditional || has_condition(&module.attrs);
                    let below = folder.join(&name);
                    let items = match (module.content, path_of(&module.attrs)) {
                        (Some((_, items)), _) => items,
                        (None, Some(path)) => items_of(&folder.join(path))?,
                        (None, None) => {
                            let file = folder.join(format!("{name}.rs"));
                            let own = below.join("mod.rs");
                            items_of(if own.exists() { &own } else { &file })?
                        }
                    };
                    let child = self.add(Some(index), items, &below, is_conditional)?;
                    let entry = (child, is_public(&module.vis));
                    self.0[index].children.entry(name).or_insert(entry);
                }
                Item::Use(import) => {
                    let is_public = is_public(&import.vis);
                    let imports = &mut self.0[index].imports;
                    add_imports(&import.tree, &mut Vec::new(), is_public, imports);
                }
                item => self.0[index].items.push(item),
            }
        }
        Ok(index)
    }
}

fn items_of(path: &Path) -> Result<Vec<Item>> {
    let text = fs::read_to_string(path);
    let text = text.with_context(|| format!("cannot read `{}`", path.display()))?;
    let file = syn::parse_file(&text);
    Ok(file
        .with_context(|| format!("cannot parse `{}`", path.display()))?
        .items)
}

fn add_imports(tree: &UseTree, path: &mut Vec<String>, is_public: bool, found: &mut Vec<Import>) {
    let mut add = |mut path: Vec<String>, last: String, name: String| {
        if last != "self" {
            path.push(last);
        }
        found.push(Import {
            name,
            path,
            is_public,
        });
    };
    match tree {
        UseTree::Path(it) => {
            path.push(it.ident.to_string());
            add_imports(&it.tree, path, is_public, found);
            path.pop();
        }
        UseTree::Name(it) => {
            let last = it.ident.to_string();
            let name = match (last.as_str(), path.last()) {
                ("self", Some(module)) => module.clone(),
                _ => last.clone(),
            };
            add(path.clone(), last, name);
        }
        UseTree::Rename(it) => add(path.clone(), it.ident.to_string(), it.rename.to_string()),
        UseTree::Glob(_) => add(path.clone(), "*".to_owned(), "*".to_owned()),
        UseTree::Group(it) => {
            for tree in &it.items {
                add_imports(tree, path, is_public, found);
            }
        }
    }
}

pub(super) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Returns whether an item is in some builds only.
pub(super) fn has_condition(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|it| it.path().is_ident("cfg"))
}

/// Returns whether an item is for tests, or hidden from the documentation.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => {
            let arguments = list.tokens.to_string();
            list.path.is_ident("cfg") && matches!(arguments.as_str(), "test" | "doctest")
                || list.path.is_ident("doc") && arguments == "hidden"
        }
        _ => false,
    })
}

/// Returns the path of `#[path = "…"]`.
fn path_of(attributes: &[Attribute]) -> Option<String> {
    attributes
        .iter()
        .find_map(|attribute| match &attribute.meta {
            Meta::NameValue(it) if it.path.is_ident("path") => match &it.value {
                syn::Expr::Lit(syn::ExprLit {
                    lit: syn::Lit::Str(path),
                    ..
                }) => Some(path.value()),
                _ => None,
            },
            _ => None,
        })
}

/// Returns the attributes of an item; none for those that are no declarations.
pub(super) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}
