//! The page by keyboard, and for programs that read it aloud.

use std::{env, fs};

use serde_json::{Value, json};

use super::open_page::OpenPage;

/// The path of axe-core's `axe.min.js`, which checks pages for barriers.
const AXE_CORE: &str = "AXE_CORE";

/// Presses Tab, and returns the name of what has the focus.
fn tab(page: &mut OpenPage) -> Value {
    page.browser.press("Tab");
    page.browser
        .value("document.activeElement.id || document.activeElement.className.split(' ')[0]")
}

#[test]
fn tab_reaches_the_controls_in_the_order_of_reading() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    page.type_text("A dog runs. A cat sleeps.");
    page.browser
        .value("document.querySelector('.skip').focus()");
    let mut order = Vec::new();
    while order.last() != Some(&json!("copy")) && order.len() < 20 {
        order.push(tab(&mut page));
    }
    order.retain(|it| it != "choose-file"); // is there if the server translates files
    let expected = [
        "quiet",
        "quiet",
        "theme",
        "open-settings",
        "source-language",
        "swap",
        "target-language",
        "source",
        "clear",
        "sentence",
        "copy",
    ];
    assert_eq!(order, expected);
}

#[test]
fn arrow_keys_go_through_sentences_and_their_words() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    page.type_text("A dog runs. A cat sleeps.");
    page.browser
        .value("document.querySelector('.sentence').focus()");
    for key in ["ArrowDown", "ArrowRight", "ArrowRight"] {
        page.browser.press(key);
    }
    assert_eq!(page.browser.text("#spoken"), "cat: cat");
    assert_eq!(page.browser.text(".word.is-marked"), "cat");
}

#[test]
fn escape_closes_a_panel_and_returns_to_the_sentence() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    page.type_text("A dog runs. A cat sleeps.");
    page.browser
        .value("document.querySelector('.sentence').focus()");
    page.browser.press("ArrowDown");
    page.browser.press("Enter");
    page.browser
        .wait_until("document.querySelector('#alternatives').matches(':popover-open')");
    page.browser.press("Escape");
    page.browser
        .wait_until("!document.querySelector('#alternatives').matches(':popover-open')");
    let focused = page.browser.value("document.activeElement.textContent");
    assert_eq!(focused, "A cat sleeps.");
}

/// Returns the barriers that axe-core finds on the page as it is now.
fn barriers(page: &mut OpenPage) -> Value {
    page.browser.value(
        "axe.run().then(({ violations }) => violations.map((it) => \
         `${it.id}: ${it.nodes.map((node) => node.target).join(' ')}`))",
    )
}

#[test]
#[expect(
    clippy::print_stderr,
    reason = "who reads the results must know what did not run"
)]
fn axe_finds_no_barrier_in_either_theme_or_in_panels() {
    let Some(path) = env::var_os(AXE_CORE) else {
        eprintln!(
            "skipped: {AXE_CORE} is not set to the path of axe.min.js (npm install axe-core)"
        );
        return;
    };
    let axe = fs::read_to_string(path).expect("AXE_CORE is the path of a file");
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    page.type_text("A dog runs. A cat sleeps.");
    page.browser.value(&axe);
    for theme in ["light", "dark"] {
        page.browser.value(&format!(
            "document.documentElement.dataset.theme = '{theme}'"
        ));
        assert_eq!(barriers(&mut page), json!([]), "{theme}");
        for panel in ["settings", "shortcuts"] {
            page.browser
                .value(&format!("document.querySelector('#{panel}').showPopover()"));
            assert_eq!(barriers(&mut page), json!([]), "{theme} {panel}");
            page.browser.press("Escape");
        }
        page.browser.click(".sentence");
        page.browser
            .wait_until("document.querySelectorAll('#alternatives-list [role=radio]').length > 1");
        assert_eq!(barriers(&mut page), json!([]), "{theme} alternatives");
        page.browser.press("Escape");
    }
}
