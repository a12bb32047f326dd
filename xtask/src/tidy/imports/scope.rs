//! [`Scope`]: what one module defines, and the paths that it uses.

use crate::tidy::tokens::{Token, tokens};

/// The keywords after which the name of an item stands.
const ITEMS: [&str; 8] = [
    "fn", "struct", "enum", "trait", "type", "const", "static", "union",
];

/// What one module contains; code under `#[cfg(test)]` is left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Scope {
    /// The names of the items defined here.
    pub(super) defined: Vec<String>,
    /// The macros defined here with `#[macro_export]`, which puts them at the root of the crate.
    pub(super) exported_macros: Vec<String>,
    /// The modules declared here.
    pub(super) children: Vec<Child>,
    /// Whether there are `impl` blocks.
    pub(super) has_impls: bool,
    /// The `use` declarations, in functions too.
    pub(super) imports: Vec<Import>,
    /// The other paths of at least two names, in types, expressions and attributes.
    pub(super) paths: Vec<Path>,
}

/// A module that another one declares.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Child {
    pub(super) name: String,
    /// What the module contains, if it is in braces and not in a file of its own.
    pub(super) inline: Option<Scope>,
    /// The file of `#[path = "…"]`.
    pub(super) path: Option<String>,
}

/// One name that a `use` declaration brings into scope.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Import {
    pub(super) path: Path,
    /// The name in this module; `*` imports all names of a module.
    pub(super) name: String,
    /// Whether other modules see the name here.
    pub(super) is_reexport: bool,
}

/// Names with `::` between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) names: Vec<String>,
    pub(super) line: usize,
}

impl Scope {
    /// Reads the source of one file.
    pub(super) fn of(source: &str) -> Self {
        let tokens = tokens(source);
        let mut reader = Reader {
            tokens: &tokens,
            at: 0,
        };
        reader.scope()
    }
}

/// Reads tokens from front to back.
struct Reader<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Returns the text of the token `offset` tokens ahead; empty at the end of the file.
    fn peek(&self, offset: usize) -> &'a str {
        self.tokens.get(self.at + offset).map_or("", |it| it.text)
    }

    fn is_name(&self, offset: usize) -> bool {
        let token = self.tokens.get(self.at + offset);
        token.is_some_and(Token::is_name)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |it| it.line)
    }

    fn is_at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    /// Reads a module up to the brace that closes it, or to the end of the file.
    fn scope(&mut self) -> Scope {
        let mut scope = Scope::default();
        let mut depth = 0_usize;
        let mut is_exported = false;
        let mut is_reexport = false;
        let mut file = None;
        while !self.is_at_end() {
            match self.peek(0) {
                "}" if depth == 0 => {
                    self.at += 1;
                    break;
                }
                "#" => match self.attribute() {
                    Attribute::TestFile => return Scope::default(),
                    Attribute::TestItem => self.skip_item(),
                    Attribute::MacroExport => is_exported = true,
                    Attribute::File(path) => file = Some(path),
                    Attribute::Other(paths) => scope.paths.extend(paths),
                },
                "mod" if depth == 0 && self.is_name(1) => {
                    let child = self.child(file.take());
                    scope.children.push(child);
                }
                "pub" => {
                    self.at += 1;
                    if self.peek(0) == "(" {
                        self.skip_group();
                    }
                    is_reexport = self.peek(0) == "use";
                }
                "use" if self.peek(1) != "<" => {
                    self.at += 1;
                    self.use_tree(&[], is_reexport, &mut scope.imports);
                    is_reexport = false;
                }
                _ if depth == 0 && self.definition(&mut scope, is_exported) => is_exported = false,
                // `::name` begins outside of this crate.
                "::" if self.is_name(1) => {
                    self.at += 1;
                    self.path();
                }
                _ if self.is_name(0) => {
                    let path = self.path();
                    if path.names.len() > 1 {
                        scope.paths.push(path);
                    }
                }
                "::" => self.at += 1,
                other => {
                    match other {
                        "(" | "[" | "{" => depth += 1,
                        ")" | "]" | "}" => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    self.at += 1;
                }
            }
        }
        scope
    }

    /// Reads `mod name;`, or a whole module in braces.
    fn child(&mut self, path: Option<String>) -> Child {
        let name = self.peek(1).to_owned();
        let is_inline = self.peek(2) == "{";
        self.at += 3;
        Child {
            name,
            inline: is_inline.then(|| self.scope()),
            path,
        }
    }

    /// Reads the keyword and the name of an item; returns whether one is next.
    fn definition(&mut self, scope: &mut Scope, is_exported: bool) -> bool {
        let (keyword, name) = (self.peek(0), self.peek(1));
        match keyword {
            "macro_rules" if name == "!" => {
                let names = match is_exported {
                    true => &mut scope.exported_macros,
                    false => &mut scope.defined,
                };
                names.push(self.peek(2).to_owned());
                self.at += 3;
            }
            "impl" => {
                scope.has_impls = true;
                self.at += 1;
            }
            // Of `const fn name`, only `fn` is followed by the name.
            _ if ITEMS.contains(&keyword) && ITEMS.contains(&name) => self.at += 1,
            _ if ITEMS.contains(&keyword) && self.is_name(1) => {
                scope.defined.push(name.to_owned());
                self.at += 2;
            }
            _ => return false,
        }
        true
    }

    /// Reads `name::name::name`.
    fn path(&mut self) -> Path {
        let line = self.line();
        let mut names = vec![self.peek(0).to_owned()];
        self.at += 1;
        while self.peek(0) == "::" && self.is_name(1) {
            names.push(self.peek(1).to_owned());
            self.at += 2;
        }
        // The `::` of `Vec::<T>::new` belongs to this path, so that `new` does not begin another.
        if self.peek(0) == "::" {
            self.at += 1;
        }
        Path { names, line }
    }

    /// Reads the tree after `use`, up to its semicolon or the end of its group.
    fn use_tree(&mut self, prefix: &[String], is_reexport: bool, imports: &mut Vec<Import>) {
        let mut names = prefix.to_vec();
        let line = self.line();
        let mut alias = None;
        loop {
            match self.peek(0) {
                "{" => {
                    self.at += 1;
                    while !self.is_at_end() && self.peek(0) != "}" {
                        self.use_tree(&names, is_reexport, imports);
                        if self.peek(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "as" => {
                    alias = Some(self.peek(1).to_owned());
                    self.at += 2;
                }
                // `use ::name` begins outside of this crate.
                "::" if names.is_empty() => {
                    names.push(String::new());
                    self.at += 1;
                }
                "::" => self.at += 1,
                "self" if !prefix.is_empty() && names.len() == prefix.len() => self.at += 1,
                name if self.is_name(0) || name == "*" => {
                    names.push(name.to_owned());
                    self.at += 1;
                }
                _ => break,
            }
        }
        let Some(last) = names.last().cloned() else {
            self.at += 1;
            return;
        };
        if last == "*" {
            names.pop();
        }
        imports.push(Import {
            path: Path { names, line },
            name: alias.unwrap_or(last),
            is_reexport,
        });
    }

    /// Reads `#[…]` or `#![…]`.
    fn attribute(&mut self) -> Attribute {
        let is_inner = self.peek(1) == "!";
        self.at += if is_inner { 2 } else { 1 };
        if self.peek(0) != "[" {
            return Attribute::Other(Vec::new());
        }
        let start = self.at + 1;
        self.skip_group();
        let tokens = self.tokens.get(start..self.at - 1).unwrap_or_default();
        let inside: Vec<&str> = tokens.iter().map(|it| it.text).collect();
        match inside.as_slice() {
            ["macro_export", ..] => Attribute::MacroExport,
            ["path", "=", file] => Attribute::File(file.trim_matches('"').to_owned()),
            ["cfg", "(", condition @ .., ")"] if is_for_tests(condition) => {
                if is_inner {
                    Attribute::TestFile
                } else {
                    Attribute::TestItem
                }
            }
            _ => Attribute::Other(paths(tokens)),
        }
    }

    /// Skips a group in brackets of any kind.
    fn skip_group(&mut self) {
        let mut depth = 0_usize;
        while !self.is_at_end() {
            match self.peek(0) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }

    /// Skips the item, field, variant or statement that an attribute applies to.
    fn skip_item(&mut self) {
        while self.peek(0) == "#" {
            self.attribute();
        }
        let mut is_item = false;
        let mut is_import = false;
        while !self.is_at_end() {
            match self.peek(0) {
                "}" | ")" | "]" => return,
                ";" => {
                    self.at += 1;
                    return;
                }
                "," if !is_item => {
                    self.at += 1;
                    return;
                }
                "{" => {
                    self.skip_group();
                    if !is_import {
                        return;
                    }
                }
                "(" | "[" => self.skip_group(),
                word => {
                    is_import |= word == "use";
                    is_item |= ITEMS.contains(&word) || ["impl", "mod", "use"].contains(&word);
                    self.at += 1;
                }
            }
        }
    }
}

/// Returns whether code under the condition of a `cfg` is compiled for tests only.
fn is_for_tests(condition: &[&str]) -> bool {
    match condition {
        ["test"] => true,
        ["all", "(", conditions @ .., ")"] => {
            let mut depth = 0_usize;
            conditions.iter().any(|&token| {
                match token {
                    "(" => depth += 1,
                    ")" => depth -= 1,
                    _ => {}
                }
                depth == 0 && token == "test"
            })
        }
        _ => false,
    }
}

/// Returns the paths of at least two names among the tokens of an attribute, also those that are strings.
fn paths(attribute: &[Token<'_>]) -> Vec<Path> {
    let mut reader = Reader {
        tokens: attribute,
        at: 0,
    };
    let mut paths = reader.scope().paths;
    for token in attribute {
        let text = token.text.trim_matches('"');
        let is_part = |c: char| c.is_alphanumeric() || "_:".contains(c);
        if token.text.starts_with('"') && text.contains("::") && text.chars().all(is_part) {
            paths.push(Path {
                names: text.split("::").map(str::to_owned).collect(),
                line: token.line,
            });
        }
    }
    paths
}

/// What an attribute means for imports.
enum Attribute {
    /// The whole file is for tests.
    TestFile,
    /// The next item is for tests.
    TestItem,
    /// The next macro is at the root of the crate.
    MacroExport,
    /// The next module is in this file.
    File(String),
    /// Nothing but the paths in it.
    Other(Vec<Path>),
}
