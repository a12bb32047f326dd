//! [`Modules`]: the modules of a crate, and the imports between its files.

use std::collections::BTreeMap;

use super::scope::{Child, Import, Path, Scope};
use crate::tidy::tree::Tree;

/// A file of the crate uses an item that another one defines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::tidy) struct Arrow {
    /// The file that uses the item, by its path from `src`.
    pub(in crate::tidy) from: String,
    /// The file that defines the item, by its path from `src`.
    pub(in crate::tidy) to: String,
    /// The first line in `from` that uses something of `to`.
    pub(in crate::tidy) line: usize,
    /// The path that is written there.
    pub(in crate::tidy) path: String,
}

/// The modules of one crate. Index 0 is the library's root, if there is one.
#[derive(Debug, Default)]
pub(super) struct Modules {
    modules: Vec<Module>,
    /// Pairs of files that contain the same module, each under its own condition; paths lead to the first.
    variants: Vec<(String, String)>,
    /// The name of the crate as paths write it, with underscores.
    crate_name: String,
}

#[derive(Debug)]
struct Module {
    /// The file that contains the module, by its path from `src`.
    file: String,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// The items defined here, each with the file that defines it.
    items: BTreeMap<String, String>,
    has_impls: bool,
    imports: Vec<Import>,
    paths: Vec<Path>,
}

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Module(usize),
    /// An item of this file, or a member of such an item.
    File(String),
}

impl Modules {
    /// Reads the library and the program of a package, without the modules for tests.
    pub(super) fn read(tree: &Tree, package: &str) -> Self {
        let mut modules = Self {
            crate_name: package.replace('-', "_"),
            ..Self::default()
        };
        for root in ["lib.rs", "main.rs"] {
            if let Some(text) = source(tree, package, root) {
                let scope = Scope::of(text);
                modules.add(scope, None, root, "", &|path| source(tree, package, path));
            }
        }
        modules
    }

    /// Adds a module and those below it; `folder` is where the files of its children are.
    fn add<'a>(
        &mut self,
        scope: Scope,
        parent: Option<usize>,
        file: &str,
        folder: &str,
        source: &dyn Fn(&str) -> Option<&'a str>,
    ) -> usize {
        let index = self.modules.len();
        let items = scope
            .defined
            .into_iter()
            .map(|name| (name, file.to_owned()));
        self.modules.push(Module {
            file: file.to_owned(),
            parent,
            children: BTreeMap::new(),
            items: items.collect(),
            has_impls: scope.has_impls,
            imports: scope.imports,
            paths: scope.paths,
        });
        let root = self.root(index);
        for name in scope.exported_macros {
            self.modules[root].items.insert(name, file.to_owned());
        }
        for Child { name, inline, path } in scope.children {
            let below = format!("{folder}{name}/");
            let child = if let Some(scope) = inline {
                self.add(scope, Some(index), file, &below, source)
            } else {
                let beside = &file[..file.rfind('/').map_or(0, |slash| slash + 1)];
                let files = match path {
                    Some(path) => vec![format!("{beside}{path}")],
                    None => vec![format!("{below}mod.rs"), format!("{folder}{name}.rs")],
                };
                let found = files.iter().find_map(|path| Some((path, source(path)?)));
                // The compiler complains of a missing file better than this check could.
                let Some((path, text)) = found else { continue };
                self.add(Scope::of(text), Some(index), path, &below, source)
            };
            if let Some(&first) = self.modules[index].children.get(&name) {
                let file = |it: usize| self.modules[it].file.clone();
                self.variants.push((file(first), file(child)));
            } else {
                self.modules[index].children.insert(name, child);
            }
        }
        index
    }

    /// Returns the imports between different files, each pair of files once.
    pub(super) fn arrows(&self) -> Vec<Arrow> {
        let mut arrows: BTreeMap<(&str, String), (usize, String)> = BTreeMap::new();
        for (index, module) in self.modules.iter().enumerate() {
            let imports = module.imports.iter().filter_map(|import| {
                let to = self.file_of(import, index)?;
                Some((to, &import.path))
            });
            let paths = module.paths.iter().filter_map(|path| {
                match self.resolve(index, &path.names, &mut Vec::new())? {
                    Target::File(to) => Some((to, path)),
                    Target::Module(_) => None,
                }
            });
            let found = imports.chain(paths).flat_map(|(to, path)| {
                let variants = self.variants.iter().filter(|it| it.0 == to);
                let mut files: Vec<String> = variants.map(|it| it.1.clone()).collect();
                files.push(to);
                files.into_iter().map(move |to| (to, path))
            });
            for (to, path) in found {
                if to == module.file {
                    continue;
                }
                let here = (path.line, path.names.join("::"));
                let first = arrows
                    .entry((&module.file, to))
                    .or_insert_with(|| here.clone());
                *first = here.min(first.clone());
            }
        }
        let arrows = arrows.into_iter();
        arrows
            .map(|((from, to), (line, path))| Arrow {
                from: from.to_owned(),
                to,
                line,
                path,
            })
            .collect()
    }

    /// Returns the files whose modules contain items or `impl` blocks, and not modules alone.
    pub(super) fn files_with_items(&self) -> impl Iterator<Item = &str> {
        let defining = self
            .modules
            .iter()
            .filter(|module| !module.items.is_empty() || module.has_impls);
        defining.map(|module| module.file.as_str())
    }

    /// Returns the file that a `use` declaration makes its own file depend on.
    ///
    /// A module's name alone is no dependency, but the paths that begin with it are. A re-export from a
    /// module below is no dependency either: it is a line of a table of contents. `*` leads to the module's own
    /// file, not to those that it re-exports: clippy's `wildcard_imports` refuses it in `use`, so that only
    /// `pub use` can have it.
    fn file_of(&self, import: &Import, module: usize) -> Option<String> {
        let file = match self.resolve(module, &import.path.names, &mut Vec::new())? {
            Target::File(file) => file,
            Target::Module(index) if import.name == "*" => self.modules[index].file.clone(),
            Target::Module(_) => return None,
        };
        let is_below = self
            .below(module)
            .iter()
            .any(|&it| self.modules[it].file == file);
        (!import.is_reexport || !is_below).then_some(file)
    }

    /// Returns the modules below a module.
    fn below(&self, module: usize) -> Vec<usize> {
        let mut below: Vec<usize> = self.modules[module].children.values().copied().collect();
        let mut at = 0;
        while let Some(&index) = below.get(at) {
            below.extend(self.modules[index].children.values());
            at += 1;
        }
        below
    }

    fn root(&self, mut module: usize) -> usize {
        while let Some(parent) = self.modules[module].parent {
            module = parent;
        }
        module
    }

    /// Follows a path from a module to the item's definition, through modules and re-exports.
    ///
    /// Returns `None` for what is defined outside of the crate. `visited` are the lookups in progress: a
    /// `use` of a name that leads back to itself ends there.
    fn resolve(
        &self,
        module: usize,
        names: &[String],
        visited: &mut Vec<(usize, String)>,
    ) -> Option<Target> {
        let (first, rest) = names.split_first()?;
        let mut target = match first.as_str() {
            "" => return None,
            "crate" => Target::Module(self.root(module)),
            "self" => Target::Module(module),
            "super" => Target::Module(self.modules[module].parent?),
            name if name == self.crate_name
                && !self.modules[module].children.contains_key(name) =>
            {
                Target::Module(0)
            }
            name => self.find(module, name, rest.is_empty(), visited)?,
        };
        for (index, name) in rest.iter().enumerate() {
            let Target::Module(module) = target else {
                break;
            };
            target = if name == "super" {
                Target::Module(self.modules[module].parent?)
            } else {
                self.find(module, name, index + 1 == rest.len(), visited)?
            };
        }
        Some(target)
    }

    /// Finds a name in a module. A name can be that of a module and of an item: at the end of a path the
    /// item is meant, before a `::` the module.
    fn find(
        &self,
        module: usize,
        name: &str,
        is_last: bool,
        visited: &mut Vec<(usize, String)>,
    ) -> Option<Target> {
        let here = &self.modules[module];
        let child = here.children.get(name).map(|&index| Target::Module(index));
        if child.is_some() && !is_last {
            return child;
        }
        if let Some(file) = here.items.get(name) {
            return Some(Target::File(file.clone()));
        }
        let key = (module, name.to_owned());
        if visited.contains(&key) {
            return child;
        }
        visited.push(key);
        let found = here.imports.iter().find_map(|import| {
            if import.name == name {
                return self.resolve(module, &import.path.names, visited);
            }
            if import.name != "*" {
                return None;
            }
            match self.resolve(module, &import.path.names, visited)? {
                Target::Module(other) if other != module => {
                    self.find(other, name, is_last, visited)
                }
                _ => None,
            }
        });
        visited.pop();
        found.or(child)
    }
}

/// Returns the text of a file of a package, by its path from `src`.
fn source<'a>(tree: &'a Tree, package: &str, path: &str) -> Option<&'a str> {
    let path = format!("{package}/src/{path}");
    let file = tree.files.iter().find(|file| file.path == path)?;
    Some(&file.text)
}
