//! Links in documents lead to existing files, and no file contains a path of one machine.

use super::problem::Problem;
use super::tree::{TextFile, Tree};

/// Folders at the root of a file system that differ between machines.
const PERSONAL: [&str; 4] = ["home", "root", "Users", "work"];

/// Checks the links of every Markdown file, and every text file for paths of one machine.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let links = tree.ending(".md").flat_map(|file| broken_links(file, tree));
    let paths = tree.files.iter().flat_map(personal_paths);
    links.chain(paths).collect()
}

fn broken_links(file: &TextFile, tree: &Tree) -> Vec<Problem> {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_broken = |(_, target): &(usize, &str)| {
        let path = target.split('#').next().unwrap_or_default();
        let is_elsewhere = path.contains(':') || path.starts_with("//");
        let leads_to =
            |resolved: String| resolved.is_empty() || tree.paths.contains(resolved.as_str());
        !is_elsewhere && !path.is_empty() && !resolve(folder, path).is_some_and(leads_to)
    };
    let broken = links(&file.text).filter(is_broken);
    broken
        .map(|(line, target)| Problem {
            location: format!("{}:{line}", file.path),
            message: format!("links to `{target}`, which does not exist"),
        })
        .collect()
}

/// Returns the targets of the links in a Markdown text, each with its line; code has none.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().zip(1..).flat_map(move |(line, number)| {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        let line = if in_code { "" } else { line };
        let definition = line
            .strip_prefix('[')
            .and_then(|line| line.split_once("]:"))
            .and_then(|(_, rest)| rest.split_whitespace().next());
        // Every second piece is between backquotes: code.
        let inline = line.split('`').step_by(2).flat_map(|piece| {
            let targets = piece.split("](").skip(1);
            targets.filter_map(|rest| rest.split([')', ' ']).next())
        });
        // Backquotes in the text of a link cut it in two; the target is in the piece behind them.
        let targets: Vec<&str> = definition.into_iter().chain(inline).collect();
        targets
            .into_iter()
            .map(move |target| (number, target.trim_matches(['<', '>'])))
    })
}

/// Resolves a relative path to a path from the root; `None` if it leads out of the repository.
pub(super) fn resolve(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn personal_paths(file: &TextFile) -> Vec<Problem> {
    let lines = file.text.lines().zip(1..);
    let found = lines.filter_map(|(line, number)| Some((number, personal_path(line)?)));
    found
        .map(|(line, folder)| Problem {
            location: format!("{}:{line}", file.path),
            message: format!("contains a path under /{folder}, which other machines do not have"),
        })
        .collect()
}

/// Returns the folder of a machine whose path is in a line.
fn personal_path(line: &str) -> Option<&'static str> {
    PERSONAL.into_iter().find(|folder| {
        let pattern = format!("/{folder}/");
        // After a name it is the middle of a path, or of an address.
        let is_middle = |before: char| before.is_alphanumeric() || "._-~}$/".contains(before);
        line.match_indices(&pattern)
            .map(|(start, _)| line[..start].chars().next_back())
            .any(|before| !before.is_some_and(is_middle))
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
        // Composed here, so that these lines do not break the rule themselves.
        let line = |before: &str| format!("{before}/{}/me/data", "home");
        assert_eq!(personal_path(&line("cd ")), Some("home"));
        assert_eq!(personal_path(&line("")), Some("home"));
        assert_eq!(personal_path(&line("https://example.org")), None);
        assert_eq!(personal_path(&line("$target")), None);
    }
}
