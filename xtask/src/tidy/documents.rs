//! Links in documents lead to existing files, and no file contains a path of a particular machine.

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};

use super::rules::Problem;
use super::tree::Tree;

/// Folders at the root of a file system that differ between machines.
const PERSONAL: [&str; 4] = ["home", "root", "Users", "work"];

/// Checks the links of every Markdown file, and every text file for paths of a particular machine.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let documents = tree.ending(".md");
    let links = documents.flat_map(|(path, text)| broken_links(path, text, tree));
    let paths = tree.ending("").flat_map(|(path, text)| {
        let found = text.lines().zip(1..);
        let found = found.filter_map(|(line, number)| Some((number, personal_path(line)?)));
        found.map(move |(line, folder)| {
            let message =
                format!("contains a path under /{folder}, which other machines do not have");
            Problem::new(format!("{path}:{line}"), message)
        })
    });
    links.chain(paths).collect()
}

fn broken_links(document: &str, text: &str, tree: &Tree) -> Vec<Problem> {
    let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_broken = |(_, target): &(usize, String)| {
        let path = target.split('#').next().unwrap_or_default();
        let is_elsewhere = path.contains(':') || path.starts_with("//");
        let is_there = |path: String| path.is_empty() || tree.paths.contains(&path);
        !is_elsewhere && !path.is_empty() && !resolve(folder, path).is_some_and(is_there)
    };
    let broken = links(text).into_iter().filter(is_broken);
    broken
        .map(|(start, target)| {
            let line = 1 + text[..start].matches('\n').count();
            let message = format!("links to `{target}`, which does not exist");
            Problem::new(format!("{document}:{line}"), message)
        })
        .collect()
}

/// Returns the targets of the links and pictures in a Markdown text, each with its position in bytes.
fn links(text: &str) -> Vec<(usize, String)> {
    let parser = Parser::new_ext(text, Options::ENABLE_TABLES);
    let definitions = parser.reference_definitions().iter();
    let mut links: Vec<(usize, String)> = definitions
        .map(|(_, it)| (it.span.start, it.dest.to_string()))
        .collect();
    for (event, range) in parser.into_offset_iter() {
        // The targets of other types are in definitions.
        if let Event::Start(
            Tag::Link {
                link_type: LinkType::Inline,
                dest_url,
                ..
            }
            | Tag::Image {
                link_type: LinkType::Inline,
                dest_url,
                ..
            },
        ) = event
        {
            links.push((range.start, dest_url.to_string()));
        }
    }
    links.sort();
    links
}

/// Resolves a relative path to a path from the root; returns `None` if it leads out of the repository.
pub(super) fn resolve(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Returns the machine's folder at the start of a path in a line, if any.
fn personal_path(line: &str) -> Option<&'static str> {
    PERSONAL.into_iter().find(|folder| {
        // After a name, it is the middle of a path or an address.
        let is_middle = |before: char| before.is_alphanumeric() || "._-~}$/".contains(before);
        line.match_indices(&format!("/{folder}/"))
            .any(|(start, _)| !line[..start].ends_with(is_middle))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        let tree = Tree::of(&[("docs/a.md", text), ("README.md", ""), ("docs/b/c.md", "")]);
        check(&tree).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn links_to_existing_files_pass() {
        let text = "[a](../README.md#top) [`b`](b/c.md \"t\") [c](b) [d](#here)\n[e]: ./b/c.md\n";
        assert!(faults(text).is_empty());
    }

    #[test]
    fn links_to_other_sites_are_not_checked() {
        assert!(faults("[a](https://example.org/x) [b](mailto:a@example.org)").is_empty());
    }

    #[test]
    fn a_link_to_nothing_is_found_with_its_line() {
        assert_eq!(
            faults("text\n[a](b/d.md)"),
            ["docs/a.md:2: links to `b/d.md`, which does not exist"]
        );
    }

    #[test]
    fn a_link_whose_text_is_code_is_checked() {
        assert_eq!(faults("see [`d`](d.md)").len(), 1);
    }

    #[test]
    fn a_link_out_of_the_repository_is_found() {
        assert_eq!(faults("[a](../../x)").len(), 1);
    }

    #[test]
    fn brackets_in_code_are_no_links() {
        assert!(faults("```\n[a](d.md)\n```\nand `[a](d.md)`").is_empty());
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        // Composed here, so that these lines do not break the rule.
        let line = |before: &str| format!("{before}/{}/me/data", "home");
        assert_eq!(personal_path(&line("cd ")), Some("home"));
        assert_eq!(personal_path(&line("")), Some("home"));
        assert_eq!(personal_path(&line("https://example.org")), None);
        assert_eq!(personal_path(&line("$target")), None);
    }
}
