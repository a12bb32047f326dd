//! The layout of the page in narrow, wide and low windows, with scrollbars that take space.

use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::json;

use super::open_page::OpenPage;

/// Widths and heights of windows, in pixels.
const WINDOWS: [(u32, u32); 7] = [
    (320, 560),
    (390, 700),
    (720, 420),
    (900, 420),
    (900, 560),
    (1000, 700),
    (1440, 800),
];

/// Where pictures of the windows are saved, for people to look at.
const PICTURES: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/page");

/// The edges of an element.
#[derive(Clone, Copy, Debug, serde::Deserialize)]
struct Edges {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

/// A page in a window of some size, with a text that is higher than the window.
struct SizedPage {
    page: OpenPage,
    window: String,
}

impl SizedPage {
    fn new(mut page: OpenPage, (width, height): (u32, u32)) -> Self {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        page.browser
            .call("Emulation.setDeviceMetricsOverride", &size);
        let scrollbar = "innerWidth > document.documentElement.clientWidth";
        assert_eq!(
            page.browser.value(scrollbar),
            true,
            "the scrollbar takes no space"
        );
        let window = format!("{width}x{height}");
        Self { page, window }
    }

    /// Returns the edges of an element.
    fn edges(&mut self, selector: &str) -> Edges {
        let edges =
            format!("document.querySelector('{selector}').getBoundingClientRect().toJSON()");
        let edges = serde_json::from_value(self.page.browser.value(&edges));
        edges.expect("the browser returns four edges")
    }

    /// Saves a picture of the window, and asserts that an element is visible as a whole.
    fn assert_visible(&mut self, selector: &str, name: &str) {
        self.save_picture(name);
        let visible = "[document.documentElement.clientWidth, innerHeight]";
        let visible: [f64; 2] = serde_json::from_value(self.page.browser.value(visible))
            .expect("the browser returns two numbers");
        let edges = self.edges(selector);
        let is_visible = edges.left < edges.right
            && edges.left >= 0.0
            && edges.top >= 0.0
            && edges.right <= visible[0]
            && edges.bottom <= visible[1];
        assert!(
            is_visible,
            "{}: {name}: {edges:?} in {visible:?}",
            self.window
        );
    }

    fn save_picture(&mut self, name: &str) {
        let picture = json!({ "format": "png" });
        let picture = self.page.browser.call("Page.captureScreenshot", &picture);
        let picture = picture["data"].as_str().expect("a picture is text");
        fs::create_dir_all(PICTURES).expect("the target directory is writable");
        let path = format!("{PICTURES}/{}-{name}.png", self.window);
        let mut decoder = Command::new("base64")
            .arg("-d")
            .stdin(Stdio::piped())
            .stdout(File::create(path).expect("the target directory is writable"))
            .spawn()
            .expect("the system has base64");
        let mut input = decoder.stdin.take().expect("standard input is piped");
        let written = input.write_all(picture.as_bytes());
        written.expect("base64 reads");
        drop(input);
        let decoded = decoder.wait().expect("base64 ends");
        assert!(decoded.success(), "the picture is not Base64");
    }
}

#[test]
fn nothing_is_cut_off_or_covered_in_windows_of_any_size() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    page.type_text(&"A dog runs over a street. A cat sleeps. ".repeat(30));
    for window in WINDOWS {
        let mut sized = SizedPage::new(page, window);
        let wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth";
        assert_eq!(sized.page.browser.value(wide), false, "{window:?}");

        sized.page.browser.value("scrollTo(0, 0)");
        sized.save_picture("page");
        let source = sized.edges("#source-language");
        let (swap, target) = (sized.edges("#swap"), sized.edges("#target-language"));
        let is_apart = source.right <= swap.left && swap.right <= target.left;
        assert!(is_apart, "{window:?}: {source:?} {swap:?} {target:?}");
        for language in ["#source-language", "#target-language"] {
            // As wide as it is without limits.
            let is_whole = format!(
                "(() => {{ const list = document.querySelector('{language}'); const width = list.offsetWidth; \
                 list.parentElement.style.maxWidth = list.style.maxWidth = 'none'; \
                 const is = list.offsetWidth === width; \
                 list.parentElement.style.maxWidth = list.style.maxWidth = ''; return is }})()"
            );
            assert_eq!(
                sized.page.browser.value(&is_whole),
                true,
                "{window:?}: {language}"
            );
        }

        for panel in ["settings", "shortcuts"] {
            let shown = format!("document.querySelector('#{panel}').showPopover()");
            sized.page.browser.value(&shown);
            sized.assert_visible(&format!("#{panel}"), panel);
            let hidden = format!("document.querySelector('#{panel}').hidePopover()");
            sized.page.browser.value(&hidden);
        }
        for (position, sentence) in [("start", 0), ("middle", 30), ("end", 59)] {
            // Between the lines of a sentence that is broken there is nothing to click at.
            sized.page.browser.value(&format!(
                "{{ const chosen = document.querySelectorAll('.sentence')[{sentence}]; \
                 chosen.scrollIntoView({{ block: 'center' }}); chosen.click(); }}"
            ));
            sized.page.browser.wait_until(
                "document.querySelector('#alternatives:popover-open:not(.is-loading)') !== null",
            );
            sized.assert_visible("#alternatives", &format!("alternatives-{position}"));
            sized.page.browser.press("Escape");
        }
        page = sized.page;
    }
    page.assert_calm();
}
