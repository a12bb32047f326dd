//! A chapter as an HTML page.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::run::Chapter;

const STYLE: &str = "\
:root{--text:#24292f;--page:#fff;--soft:#f6f8fa;--line:#d8dee4;--link:#0969da}
@media(prefers-color-scheme:dark){:root{--text:#e6edf3;--page:#0d1117;--soft:#161b22;--line:#30363d;--link:#58a6ff}}
body{margin:0;color:var(--text);background:var(--page);font:17px/1.6 Georgia,serif;display:flex}
nav{font:14px/1.5 sans-serif;width:250px;flex:none;height:100vh;overflow:auto;position:sticky;top:0;
background:var(--soft);border-right:1px solid var(--line);padding:16px;box-sizing:border-box}
nav ol{list-style:none;margin:0;padding:0}nav li{margin:5px 0}nav .here{font-weight:bold}
main{max-width:52em;width:100%;box-sizing:border-box;padding:16px 32px 64px;min-width:0;margin:0 auto}a{color:var(--link);text-decoration:none}
h1,h2,h3{font-family:sans-serif;line-height:1.25}pre{background:var(--soft);border:1px solid var(--line);
padding:10px 14px;overflow:auto;font-size:13px;line-height:1.45}code{font-family:ui-monospace,Menlo,monospace;font-size:.87em}
pre code{font-size:13px}pre i{font-style:normal;opacity:.65}img{max-width:100%}table{border-collapse:collapse;font-size:.9em}
td,th{border:1px solid var(--line);padding:4px 10px;text-align:left;vertical-align:top}
details{border-left:3px solid var(--line);padding-left:14px;margin:12px 0}summary{cursor:pointer}
.turn{display:flex;justify-content:space-between;font:15px sans-serif;margin-top:40px}
main>table{display:block;overflow:auto}
@media(max-width:800px){body{flex-direction:column}nav{width:auto;height:auto;position:static;order:1}
main{padding:8px 16px 32px}}";

/// Renders one chapter of the book.
///
/// `outside` is the path from the page to the folder of the Markdown files, for links to files that are not pages.
pub(super) fn render(
    book: &str,
    chapters: &[Chapter],
    index: usize,
    text: &str,
    outside: &str,
) -> String {
    let mut events: Vec<Event<'_>> = Parser::new_ext(text, Options::ENABLE_TABLES).collect();
    for event in &mut events {
        if let Event::Start(Tag::Link { dest_url, .. }) = event {
            *dest_url = target(dest_url, chapters, outside);
        }
    }
    let mut body = String::new();
    html::push_html(&mut body, with_ids(events).into_iter());
    let body = mark_comments(&body);
    let scripts = scripts(text);
    let link = |it: &Chapter| format!("<a href=\"{}.html\">{}</a>", it.name, it.title);
    let entry = |(at, chapter): (usize, &Chapter)| match at == index {
        true => format!("<li class=\"here\">{}</li>\n", chapter.title),
        false => format!("<li>{}</li>\n", link(chapter)),
    };
    let entries: String = chapters.iter().enumerate().map(entry).collect();
    let before = index.checked_sub(1).and_then(|at| chapters.get(at));
    let before = before.map_or_else(String::new, |it| format!("← {}", link(it)));
    let after = chapters.get(index + 1);
    let after = after.map_or_else(String::new, |it| format!("{} →", link(it)));
    let title = &chapters[index].title;
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title} · {book}</title>\n\
         <style>{STYLE}</style>\n{scripts}</head>\n<body>\n<nav><b>{book}</b>\n<ol>\n{entries}</ol></nav>\n<main>\n\
         {body}<p class=\"turn\"><span>{before}</span><span>{after}</span></p>\n</main>\n</body>\n</html>\n"
    )
}

/// Gives each heading an id for links: its text in lower case, with hyphens for spaces.
fn with_ids(mut events: Vec<Event<'_>>) -> Vec<Event<'_>> {
    let mut words = String::new();
    // From the end, so that the words of a heading are known at its start.
    for event in events.iter_mut().rev() {
        match event {
            Event::End(TagEnd::Heading(_)) => words.clear(),
            Event::Text(text) | Event::Code(text) => words.insert_str(0, &text.to_lowercase()),
            Event::Start(Tag::Heading { id, .. }) => {
                let kept = words
                    .chars()
                    .filter(|it| it.is_alphanumeric() || " -_".contains(*it));
                *id = Some(kept.collect::<String>().replace(' ', "-").into());
            }
            _ => {}
        }
    }
    events
}

/// Returns the scripts and data of the interactive parts of a text, as paths from the folder of the chapters.
///
/// `data-shows="NAME"` needs the script `interactive/NAME.js`, `data-from="NAME"` the data `pictures/NAME.js`.
pub(crate) fn interactive(text: &str) -> Vec<String> {
    let attributes = [
        ("interactive", "data-shows=\""),
        ("pictures", "data-from=\""),
    ];
    let files = attributes.into_iter().flat_map(|(folder, attribute)| {
        let names = text.split(attribute).skip(1);
        let names = names.filter_map(|it| Some(it.split_once('"')?.0));
        names.map(move |name| format!("{folder}/{name}.js"))
    });
    files.collect()
}

/// Returns the elements that load the interactive parts of a chapter, and nothing for a chapter without any.
fn scripts(text: &str) -> String {
    let mut files = interactive(text);
    if files.is_empty() {
        return String::new();
    }
    files.insert(0, "interactive/book.js".to_owned());
    files.dedup();
    let script = |file: String| format!("<script defer src=\"{file}\"></script>\n");
    let style = "<link rel=\"stylesheet\" href=\"interactive/style.css\">\n".to_owned();
    [style]
        .into_iter()
        .chain(files.into_iter().map(script))
        .collect()
}

fn mark_comments(body: &str) -> String {
    let mut is_rust = false;
    let mut marked = String::with_capacity(body.len());
    for line in body.split_inclusive('\n') {
        is_rust |= line.contains("<code class=\"language-rust\">");
        is_rust &= !line.contains("</code>");
        let comments = line.match_indices("//").map(|(at, _)| at);
        let begins = |at: &usize| line[..*at].ends_with(['>', ' ']) || *at == 0;
        match comments.filter(|_| is_rust).find(begins) {
            Some(at) => {
                let (code, comment) = line.split_at(at);
                marked += &format!("{code}<i>{}</i>\n", comment.trim_end());
            }
            None => marked += line,
        }
    }
    marked
}

/// Returns the target of a chapter's link as the page needs it.
fn target<'a>(link: &str, chapters: &[Chapter], outside: &str) -> CowStr<'a> {
    let (path, fragment) = link.split_at(link.find('#').unwrap_or(link.len()));
    let name = path.strip_suffix(".md");
    let is_chapter = chapters.iter().any(|it| Some(it.name.as_str()) == name);
    let target = match name {
        Some(name) if is_chapter => format!("{name}.html{fragment}"),
        _ if path.is_empty() || path.contains(':') || path.starts_with("pictures/") => link.into(),
        _ => format!("{outside}/{link}"),
    };
    target.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chapters() -> [Chapter; 2] {
        ["index", "masks"].map(|name| Chapter {
            title: name.to_uppercase(),
            name: name.to_owned(),
        })
    }

    #[test]
    fn links_to_chapters_lead_to_pages_and_others_out_of_the_book() {
        let target = |link| target(link, &chapters(), "../src").to_string();
        assert_eq!(target("masks.md#both"), "masks.html#both");
        assert_eq!(
            target("../../../core/mask.rs"),
            "../src/../../../core/mask.rs"
        );
        assert_eq!(target("https://arxiv.org"), "https://arxiv.org");
    }

    #[test]
    fn a_heading_has_the_id_that_links_name() {
        let page = render(
            "Book",
            &chapters(),
            0,
            "## Why `√d_k`, and not\n\ntext\n\n## Two\n",
            "",
        );
        assert!(page.contains("<h2 id=\"why-d_k-and-not\">"), "{page}");
        assert!(page.contains("<h2 id=\"two\">Two</h2>"));
    }

    #[test]
    fn comments_are_marked_in_rust_only() {
        let code = |language| format!("<code class=\"language-{language}\">a // b\n</code>");
        assert!(mark_comments(&code("rust")).contains("a <i>// b</i>\n"));
        assert!(!mark_comments(&code("text")).contains("<i>"));
    }

    #[test]
    fn a_chapter_loads_the_scripts_and_data_of_what_it_shows() {
        let text = "<div class=\"interactive\" data-shows=\"beam\" data-from=\"search\">x</div>";
        let scripts = scripts(text);
        let files = [
            "interactive/book.js",
            "interactive/beam.js",
            "pictures/search.js",
        ];
        let positions = files.map(|file| scripts.find(&format!("src=\"{file}\"")));
        assert!(positions.iter().all(Option::is_some), "{scripts}");
        assert!(positions.is_sorted(), "{scripts}");
    }

    #[test]
    fn a_chapter_without_interactive_parts_loads_nothing() {
        assert_eq!(scripts("# One\n\n![picture](pictures/a.svg)\n"), "");
    }

    #[test]
    fn a_page_has_its_text_and_its_neighbors() {
        let page = render(
            "Book",
            &chapters(),
            0,
            "# One\n\n[next](masks.md)\n",
            "../src",
        );
        assert!(page.contains("<h1 id=\"one\">One</h1>"));
        assert!(page.contains("<a href=\"masks.html\">next</a>"));
        assert!(page.contains("<a href=\"masks.html\">MASKS</a> →"));
    }
}
