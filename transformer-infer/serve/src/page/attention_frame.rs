//! The page of the `attention` command without its data, for a frame. Style and script are separate files, as a strict
//! Content-Security-Policy requires.

use transformer_translate::attention::TEMPLATE;
/// The style, and the script, which runs once the data is in the document.
pub(super) use transformer_translate::attention::{SCRIPT, STYLE};

/// Returns the document.
///
/// # Panics
///
/// Never panics: the template is constant, and a test calls this.
pub(super) fn document() -> String {
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
    use super::*;

    #[test]
    fn the_frame_has_no_inline_style_or_script_and_no_gaps() {
        let document = document();
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
