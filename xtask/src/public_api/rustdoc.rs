//! The items that rustdoc lists, for comparison: its pages come from the compiler, our lists from the sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::list::PublicApi;

/// The kinds of items that our lists have.
const KINDS: [&str; 7] = [
    "constant", "enum", "fn", "static", "struct", "trait", "type",
];

/// Returns the differences between our list and the page of all items that rustdoc wrote.
pub(super) fn differences(api: &PublicApi, page: &Path) -> Result<Vec<String>> {
    let html = fs::read_to_string(page);
    let html = html.with_context(|| format!("cannot read `{}`", page.display()))?;
    let theirs = pages(&html);
    let ours: BTreeSet<(&str, &str)> = api
        .pages
        .iter()
        .map(|(kind, name, _)| (kind.as_str(), name.as_str()))
        .collect();
    let missing = theirs.difference(&ours);
    let missing =
        missing.map(|(kind, name)| format!("rustdoc has the {kind} {name}, our list has not"));
    let in_all_builds = api.pages.iter().filter(|(_, _, everywhere)| *everywhere);
    let extra = in_all_builds.filter(|(kind, name, _)| !theirs.contains(&(kind.as_str(), name)));
    let extra =
        extra.map(|(kind, name, _)| format!("our list has the {kind} {name}, rustdoc has not"));
    Ok(missing.chain(extra).collect())
}

/// Returns the kind and the name of each item on rustdoc's page: it links to `path/kind.Name.html`.
fn pages(html: &str) -> BTreeSet<(&str, &str)> {
    let links = html
        .split("href=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next());
    let page = |link: &'_ str| -> Option<(usize, usize)> {
        let file = link.rsplit('/').next()?;
        let (kind, name) = file.strip_suffix(".html")?.split_once('.')?;
        KINDS.contains(&kind).then_some((kind.len(), name.len()))
    };
    let found = links.filter_map(|link| {
        let (kind, name) = page(link)?;
        let file = &link[link.rfind('/').map_or(0, |slash| slash + 1)..];
        Some((&file[..kind], &file[kind + 1..kind + 1 + name]))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_items_are_found_and_others_are_not() {
        let html = r#"<a href="model/struct.Encoder.html">x</a><a href="fn.sinusoids.html">y</a>
            <a href="../help.html">z</a><a href="derive.Module.html">w</a>"#;
        assert_eq!(
            pages(html),
            BTreeSet::from([("fn", "sinusoids"), ("struct", "Encoder")])
        );
    }
}
