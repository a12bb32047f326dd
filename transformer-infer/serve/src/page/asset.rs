//! [`Asset`]: a file of the page, and all of them; [`attention_document`]: the page of the `attention` command without its
//! data, for a frame.

use std::borrow::Cow;

use transformer_translate::attention::{SCRIPT, STYLE, TEMPLATE};

/// The policy of documents: they load only from this server, without inline scripts or styles, without HTML made of
/// text, and without a frame around them.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'";

/// The policy of the frame with the attention, for a script that writes colors and sizes into attributes. The document
/// may be in a frame of this server, and calls nothing.
const FRAME_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

const FILE_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

#[derive(Debug)]
pub(super) struct Asset {
    pub(super) path: &'static str,
    /// Its type, with the encoding.
    pub(super) content_type: &'static str,
    pub(super) policy: &'static str,
    pub(super) text: Cow<'static, str>,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

impl Asset {
    fn new(
        path: &'static str,
        content_type: &'static str,
        policy: &'static str,
        text: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            path,
            content_type,
            policy,
            text: text.into(),
        }
    }
}

/// Makes an asset of a script in `static/js/`, with the same path below `/page/`.
macro_rules! script {
    ($name:literal) => {
        Asset::new(
            concat!("/page/", $name),
            JS,
            FILE_POLICY,
            include_str!(concat!("static/js/", $name)),
        )
    };
}

pub(super) fn assets() -> Vec<Asset> {
    vec![
        Asset::new("/", HTML, PAGE_POLICY, include_str!("static/index.html")),
        Asset::new(
            "/page/page.css",
            CSS,
            FILE_POLICY,
            include_str!("static/page.css"),
        ),
        Asset::new("/docs", HTML, PAGE_POLICY, include_str!("static/docs.html")),
        Asset::new(
            "/page/docs.css",
            CSS,
            FILE_POLICY,
            include_str!("static/docs.css"),
        ),
        script!("theme.js"),
        script!("page.js"),
        script!("alternatives.js"),
        script!("api.js"),
        script!("attention.js"),
        script!("attention-frame.js"),
        script!("detection.js"),
        script!("docs.js"),
        script!("dom.js"),
        script!("events.js"),
        script!("files.js"),
        script!("history.js"),
        script!("languages.js"),
        script!("messages.js"),
        script!("messages/ar.js"),
        script!("messages/de.js"),
        script!("messages/es.js"),
        script!("messages/fr.js"),
        script!("messages/ja.js"),
        script!("messages/pt.js"),
        script!("messages/zh.js"),
        script!("output.js"),
        script!("settings.js"),
        script!("source.js"),
        script!("translation.js"),
        script!("text/glossary.js"),
        script!("text/links.js"),
        script!("text/pieces.js"),
        script!("text/terms.js"),
        script!("text/units.js"),
        Asset::new(
            "/page/attention.html",
            HTML,
            FRAME_POLICY,
            attention_document(),
        ),
        Asset::new("/page/attention-view.css", CSS, FILE_POLICY, STYLE),
        Asset::new("/page/attention-view.js", JS, FILE_POLICY, SCRIPT),
    ]
}

pub(super) fn attention_document() -> String {
    let (start, end) = TEMPLATE
        .split_once("<meta http-equiv=\"Content-Security-Policy\"")
        .expect("the template has a policy");
    let (_, end) = end.split_once(">\n").expect("the element has an end");
    [start, end]
        .concat()
        .replace(
            "<style>\n{style}</style>",
            "<link rel=\"stylesheet\" href=\"attention-view.css\">",
        )
        .replace(
            "<script>\n{script}</script>",
            "<script src=\"attention-frame.js\"></script>",
        )
        .replace("{generator}", transformer_translate::attention::GENERATOR)
        .replace(": {title}", "")
        .replace("{data}", "")
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Returns the paths of the files in a folder, relative to it.
    fn files_in(folder: &Path, prefix: &str) -> BTreeSet<String> {
        let entries = fs::read_dir(folder).expect("the folder is in the repository");
        let files = entries.flat_map(|entry| {
            let entry = entry.expect("the folder is readable");
            let name = format!("{prefix}{}", entry.file_name().display());
            if entry.path().is_dir() {
                files_in(&entry.path(), &format!("{name}/"))
            } else {
                BTreeSet::from([name])
            }
        });
        files.collect()
    }

    #[test]
    fn every_script_has_an_address() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page/static/js");
        let assets = assets();
        let served: BTreeSet<String> = assets
            .iter()
            .filter_map(|asset| asset.path.strip_prefix("/page/"))
            .filter(|name| name.ends_with(".js") && *name != "attention-view.js")
            .map(str::to_owned)
            .collect();
        assert_eq!(served, files_in(&folder, ""));
    }

    /// Returns the texts of a file of messages: English and translated.
    fn messages(text: &str) -> Vec<(String, String)> {
        let lines = text
            .lines()
            .filter_map(|line| line.trim().strip_suffix(','));
        let pair = |line| {
            let object = format!("{{{line}}}");
            let pair: BTreeMap<String, String> =
                serde_json::from_str(&object).expect("a line is a pair of texts");
            pair.into_iter().next().expect("a line has a pair")
        };
        lines.map(pair).collect()
    }

    /// Returns the names in braces.
    fn gaps(text: &str) -> BTreeSet<&str> {
        let parts = text.split('{').skip(1);
        parts
            .filter_map(|part| part.split_once('}'))
            .map(|it| it.0)
            .collect()
    }

    #[test]
    fn every_language_has_every_text() {
        let assets = assets();
        let all = assets.iter().filter(|it| it.path.contains("/messages/"));
        let all: Vec<Vec<(String, String)>> = all.map(|it| messages(&it.text)).collect();
        assert_eq!(all.len(), 7);
        let english: BTreeSet<&str> = all[0].iter().map(|(text, _)| text.as_str()).collect();
        for language in &all {
            let known: BTreeSet<&str> = language.iter().map(|(text, _)| text.as_str()).collect();
            assert_eq!(known, english);
            for (text, translated) in language {
                assert_eq!(gaps(text), gaps(translated), "{text}");
            }
        }
        for asset in assets.iter().filter(|it| it.path.ends_with(".js")) {
            // Only calls of `t`: a letter before it makes it the end of another name.
            for call in [" t(\"", "(t(\"", "{t(\""]
                .iter()
                .flat_map(|it| asset.text.split(it).skip(1))
            {
                let text = call.split('"').next().expect("a split has a first part");
                assert!(english.contains(text), "{}: {text}", asset.path);
            }
        }
        // What stands in the document is translated by its text.
        for text in include_str!("static/index.html")
            .split(['<', '>'])
            .skip(1)
            .step_by(2)
        {
            for name in ["aria-label=\"", "title=\"", "placeholder=\""] {
                let value = text
                    .split_once(name)
                    .and_then(|(_, rest)| rest.split('"').next());
                assert!(value.is_none_or(|it| english.contains(it)), "{value:?}");
            }
        }
    }

    #[test]
    fn every_import_is_served() {
        let assets = assets();
        let paths: BTreeSet<&str> = assets.iter().map(|asset| asset.path).collect();
        for asset in &assets {
            let folder = Path::new(asset.path).parent();
            let folder = folder.unwrap_or(Path::new("/"));
            for line in asset.text.lines() {
                let Some((_, name)) = line
                    .split_once(" from \"./")
                    .or(line.split_once("import(\"./"))
                else {
                    continue;
                };
                let name = name.split('"').next().expect("a split has a first part");
                let path = folder.join(name);
                assert!(
                    paths.contains(path.to_str().expect("paths are ASCII")),
                    "{line}"
                );
            }
        }
    }

    #[test]
    fn addresses_are_relative_to_the_page() {
        for asset in assets() {
            for absolute in ["href=\"/", "src=\"/", "fetch(\"/", "http:", "https:"] {
                // The names of namespaces, which no browser loads.
                let text = asset.text.replace("http://www.w3.org/2000/svg", "");
                assert!(!text.contains(absolute), "{}: {absolute}", asset.path);
            }
        }
    }
}

#[cfg(test)]
mod attention_frame_tests {
    use super::*;

    #[test]
    fn the_frame_has_no_inline_style_or_script_and_no_gaps() {
        let document = attention_document();
        for gap in [
            "{style}",
            "{script}",
            "{title}",
            "{data}",
            "{generator}",
            "<style",
            "http-equiv",
        ] {
            assert!(!document.contains(gap), "{gap}");
        }
        let scripts = document.matches("<script").count();
        assert_eq!(
            scripts, 2,
            "the element of the data, and one with an address"
        );
        assert!(document.contains("<script type=\"application/json\" id=\"data\"></script>"));
    }
}
