//! The interactive parts of the book in a browser: formulas, sliders, words and steps.
//!
//! Each test opens a page with the parts of one chapter, as the built page has them. Without Chromium the tests print
//! a note and pass.

#[expect(dead_code, reason = "the tests of transformer-infer, whose file it is, use all of it")]
#[rustfmt::skip] // it is formatted with the settings of its own package
#[path = "../../../transformer-infer/tests/it/chromium.rs"]
mod chromium;

use std::fs;
use std::path::{Path, PathBuf};

use chromium::Browser;
use serde_json::{Value, json};
use transformer_core::device;
use transformer_core::model::sinusoids;
use transformer_train::config::TrainingSettings;
use transformer_train::optim::Schedule;

/// A page with the interactive parts of a chapter.
struct Page {
    browser: Browser,
    _folder: tempfile::TempDir,
}

impl Page {
    /// Opens the parts of a chapter at a width in pixels, if there is a browser, and waits until they are drawn.
    fn open(chapter: &str, width: u32, scheme: &str) -> Option<Self> {
        let mut browser = Browser::start()?;
        let screen =
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        browser.call("Emulation.setDeviceMetricsOverride", &screen);
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        browser.call("Emulation.setEmulatedMedia", &json!({"features": features}));
        for domain in ["Runtime", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("page.html");
        fs::write(&path, html(chapter)).expect("the temporary folder is writable");
        browser.open(&format!("file://{}", path.display()));
        browser.wait_until(
            "document.querySelector('.interactive') !== null && \
             document.querySelectorAll('.interactive:not([data-ready])').length === 0",
        );
        Some(Self { browser, _folder: folder })
    }

    fn value(&mut self, expression: &str) -> Value {
        self.browser.value(expression)
    }

    fn number(&mut self, expression: &str) -> f64 {
        self.value(expression).as_f64().expect("the expression is a number")
    }

    /// Returns the text that a part says about its picture.
    fn said(&mut self) -> String {
        self.browser.text("[aria-live]")
    }

    /// Gives a slider a value, as its user does.
    fn slide(&mut self, name: &str, index: usize) {
        self.value(&format!(
            "{{ const slider = document.querySelector('input[name={name}]'); slider.value = {index}; \
             slider.dispatchEvent(new Event('input')); }}"
        ));
    }
}

fn chapters() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/chapters");
    folder.canonicalize().expect("the book is in the repository")
}

/// Returns a page with the interactive parts of a chapter, their scripts and their data.
fn html(chapter: &str) -> String {
    let text = fs::read_to_string(chapters().join(chapter)).expect("the chapter is readable");
    let parts: Vec<&str> = text
        .split("<div class=\"interactive\"")
        .skip(1)
        .filter_map(|rest| rest.split("</div>").next())
        .collect();
    assert!(!parts.is_empty(), "{chapter} has an interactive part");
    let named = |attribute: &str, folder: &str| -> Vec<String> {
        let names = parts
            .iter()
            .filter_map(|part| part.split_once(&format!("{attribute}=\""))?.1.split('"').next());
        names.map(|name| format!("{folder}/{name}.js")).collect()
    };
    let scripts = ["interactive/book.js".to_owned()].into_iter();
    let scripts =
        scripts.chain(named("data-shows", "interactive")).chain(named("data-from", "pictures"));
    let base = chapters();
    let scripts = scripts
        .map(|file| format!("<script defer src=\"file://{}/{file}\"></script>", base.display()));
    let parts = parts.iter().map(|part| format!("<div class=\"interactive\"{part}</div>"));
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{chapter}</title><link rel=\"stylesheet\" href=\"file://{}/interactive/style.css\">{}{}",
        base.display(),
        scripts.collect::<String>(),
        parts.collect::<String>()
    )
}

#[test]
fn the_sinusoids_of_the_page_are_those_of_the_model() {
    let Some(mut page) = Page::open("02_positions.md", 900, "light") else {
        return;
    };
    let (len, d_model) = (40, 6);
    let (_, device) = device::choose(Some("flex")).expect("the default backend is built");
    let table = sinusoids(0, len, d_model, &device); // [len, d_model]
    let expected: Vec<f32> = table.into_data().iter::<f32>().collect();
    let script = format!(
        "Array.from({{ length: {len} * {d_model} }}, (_, at) => \
         book.sinusoid(Math.floor(at / {d_model}), at % {d_model}, {d_model}))"
    );
    let found = page.value(&script);
    let found = found.as_array().expect("the script makes an array");
    assert_eq!(found.len(), expected.len());
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let found = found.as_f64().expect("a feature is a number");
        // The model's are in single precision.
        assert!((found - f64::from(expected)).abs() < 1e-6, "{at}: {found} {expected}");
    }
}

#[test]
fn another_base_changes_the_wavelength() {
    let Some(mut page) = Page::open("02_positions.md", 900, "light") else {
        return;
    };
    // §3.5 with 100 for 10000: feature 2 of 4 is the sine of pos / 100^(2/4).
    let found = page.number("book.sinusoid(7, 2, 4, 100)");
    assert!((found - (0.7_f64).sin()).abs() < 1e-12, "{found}");
}

#[test]
fn a_slider_of_positions_changes_the_text_and_the_picture() {
    let Some(mut page) = Page::open("02_positions.md", 900, "light") else {
        return;
    };
    let picture = "document.querySelector('image').getAttribute('href')";
    let before = page.value(picture);
    page.slide("position", 3);
    page.slide("pair", 0);
    page.slide("d_model", 1);
    // The program of the chapter prints this row: 0.141 and −0.990.
    let said = page.said();
    assert!(
        said.starts_with(
            "Position 3: feature 0 = sin(3 / 10000^(0/4)) = 0.141, feature 1 = cos(…) = −0.990."
        ),
        "{said}"
    );
    assert_ne!(page.value(picture), before);
}

#[test]
fn the_learning_rate_of_the_page_is_the_trainers() {
    let Some(mut page) = Page::open("10_schedule.md", 900, "light") else {
        return;
    };
    for (d_model, warmup_steps, factor) in [(512, 4000, 1.0), (96, 700, 0.3)] {
        let settings = TrainingSettings {
            warmup_steps,
            learning_rate_factor: factor,
            ..TrainingSettings::default()
        };
        let schedule = Schedule::new(&settings, d_model);
        for step in [1, 100, 699, 700, 701, 4000, 100_000] {
            let expected = schedule.learning_rate(step);
            let found =
                page.number(&format!("book.noamRate({step}, {d_model}, {warmup_steps}, {factor})"));
            assert!(
                (found - expected).abs() < 1e-12 * expected.max(1.0),
                "{step}: {found} {expected}"
            );
        }
    }
}

#[test]
fn the_schedule_says_its_peak_and_warns_of_a_warmup_that_never_ends() {
    let Some(mut page) = Page::open("10_schedule.md", 900, "light") else {
        return;
    };
    // (512 · 4000)^−0.5, which the program of the chapter prints as 0.000699.
    let said = page.said();
    assert!(said.starts_with("Peak: 0.000699 at update 4000."), "{said}");
    page.slide("updates", 0);
    let said = page.said();
    assert!(said.contains("ends before the peak"), "{said}");
}

#[test]
fn the_steps_of_the_search_end_with_what_it_found() {
    let Some(mut page) = Page::open("13_search.md", 900, "light") else {
        return;
    };
    let nodes = "document.querySelectorAll('.node').length";
    assert_eq!(page.value(nodes), 1);
    page.browser.click("button[name=next]");
    page.browser.click("button[name=next]");
    assert_eq!(page.value(nodes), 3, "<s>, ein and der");
    while page.value("document.querySelector('button[name=next]').disabled") == false {
        page.browser.click("button[name=next]");
    }
    let best = page.browser.text("tbody tr:first-child .text");
    assert_eq!(best, "der Hund </s>");
    // The probability that the program prints: 0.360.
    let last = page.value("[...document.querySelectorAll('.node.best')].at(-1).textContent");
    assert!(last.as_str().is_some_and(|text| text.contains("0.360")), "{last}");
}

#[test]
fn keys_step_through_the_search() {
    let Some(mut page) = Page::open("13_search.md", 900, "light") else {
        return;
    };
    page.value("document.querySelector('input[name=moment]').focus()");
    page.browser.press("ArrowRight");
    let said = page.said();
    assert!(said.starts_with("Step 1: "), "{said}");
    page.browser.press("ArrowLeft");
    assert_eq!(page.value("document.querySelectorAll('.node').length"), 1);
}

#[test]
fn pointing_at_a_word_leaves_its_lines_alone() {
    let Some(mut page) = Page::open("19_translator.md", 900, "light") else {
        return;
    };
    let visible = "[...document.querySelectorAll('.words .line')].filter((it) => it.style.display !== 'none').length";
    let all = page.number(visible);
    page.browser.point_at(".queries button:nth-of-type(2)");
    assert!(page.number(visible) < all);
    let said = page.said();
    assert!(said.contains("attends to: "), "{said}");
    page.browser.point_at(".keys button:nth-of-type(1)");
    assert!(page.said().contains("is attended to by: "));
}

#[test]
fn keys_go_from_word_to_word() {
    let Some(mut page) = Page::open("19_translator.md", 900, "light") else {
        return;
    };
    page.value("document.querySelector('.queries button').focus()");
    page.browser.press("ArrowDown");
    let second = page.value("document.querySelectorAll('.queries button')[1].textContent");
    assert_eq!(page.value("document.activeElement.textContent"), second);
    let said = page.said();
    assert!(
        said.starts_with(&format!("“{}” attends to", second.as_str().unwrap_or_default())),
        "{said}"
    );
    page.browser.press("ArrowRight");
    assert_eq!(page.value("document.activeElement.closest('.keys') !== null"), true);
}

#[test]
fn a_word_keeps_the_focus_when_the_width_changes() {
    let Some(mut page) = Page::open("19_translator.md", 900, "light") else {
        return;
    };
    page.value("(document.querySelectorAll('.keys button')[1]).focus()");
    let word = page.value("(window.before = document.activeElement).textContent");
    let screen = json!({"width": 500, "height": 900, "deviceScaleFactor": 1, "mobile": false});
    page.browser.call("Emulation.setDeviceMetricsOverride", &screen);
    page.browser.wait_until("!window.before.isConnected");
    let focused = "document.activeElement === document.querySelectorAll('.keys button')[1]";
    assert_eq!(page.value(focused), true);
    assert_eq!(page.value("document.activeElement.textContent"), word);
}

#[test]
fn every_row_of_recorded_attention_is_a_distribution() {
    let Some(mut page) = Page::open("19_translator.md", 900, "light") else {
        return;
    };
    // Weights are rounded to ten-thousandths, of at most 20 tokens.
    let script = "Math.max(...bookData.attention.flatMap(({ kinds }) => kinds).flatMap(({ layers }) => layers.flat(2)) \
                  .map((row) => Math.abs(row.reduce((a, b) => a + b) - 10000)))";
    assert!(page.number(script) <= 10.0);
}

/// Asserts that nothing of a chapter's parts is wider than the window, and that no script failed or asked for a
/// network.
fn assert_fits(chapter: &str, width: u32, scheme: &str) {
    let Some(mut page) = Page::open(chapter, width, scheme) else {
        return;
    };
    let widest = page.number("document.documentElement.scrollWidth");
    assert!(widest <= f64::from(width), "{chapter} is {widest} pixels wide at {width}");
    let thrown = page.browser.events("Runtime.exceptionThrown");
    assert!(thrown.is_empty(), "{thrown:?}");
    for request in page.browser.events("Network.requestWillBeSent") {
        let address = request["request"]["url"].as_str().unwrap_or_default();
        assert!(address.starts_with("file:") || address.starts_with("data:"), "{address}");
    }
}

#[test]
fn all_parts_fit_a_phone() {
    for chapter in ["02_positions.md", "10_schedule.md", "13_search.md", "19_translator.md"] {
        assert_fits(chapter, 360, "dark");
    }
}

#[test]
fn all_parts_fit_a_window() {
    for chapter in ["02_positions.md", "10_schedule.md", "13_search.md", "19_translator.md"] {
        assert_fits(chapter, 1200, "light");
    }
}
