//! The attention page in a browser: clicks and keys in Chromium change the figure.
//!
//! A browser takes seconds to start. These tests still run by default, because no others execute the page's script.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use transformer_infer::attention::{Attention, Selection, Token, View, page};

use crate::chromium::Browser;
use crate::model::write_model;

/// Opens a page, and waits until its script has drawn the figure.
fn open(browser: &mut Browser, path: &Path) {
    browser.open(&format!("file://{}", path.display()));
    browser.wait_until("document.querySelector('#picture') !== null");
}

/// Returns the figure: the pixels of the heat map, or the elements of the lines.
fn picture(browser: &mut Browser) -> String {
    let script = "(() => { const picture = document.querySelector('#picture'); \
                  return picture.toDataURL ? picture.toDataURL() : picture.outerHTML })()";
    let picture = browser.value(script);
    picture.as_str().expect("a picture is text").to_owned()
}

/// Writes the page of a small model with random weights.
fn write_page(folder: &Path) -> PathBuf {
    let attention = write_model(folder).forced_attention("a bad cab", "feed");
    let attention = attention.expect("the lines are short");
    let page = page(&attention, Selection::default()).expect("there are three layers");
    let path = folder.join("page.html");
    fs::write(&path, page).expect("the temporary directory is writable");
    path
}

#[test]
fn clicks_and_keys_change_the_figure() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let folder = tempfile::tempdir().expect("the system has temporary directories");
    open(&mut browser, &write_page(folder.path()));
    let mean = picture(&mut browser);
    assert_eq!(picture(&mut browser), mean);
    let head = |head: usize| format!("#overview [data-layer=\"1\"][data-head=\"{head}\"]");

    browser.click(&head(2));
    let second = picture(&mut browser);
    assert_ne!(second, mean);
    let title = browser.text("#figure-title");
    assert_eq!(
        title,
        "Attention from output to source, layer 2 of 3, head 2"
    );

    browser.press("ArrowRight");
    assert!(browser.text("#figure-title").ends_with("head 3"));
    assert_ne!(picture(&mut browser), second);

    browser.click(&head(2));
    assert_eq!(picture(&mut browser), second);

    browser.click("[data-kind=encoder]");
    assert!(
        browser
            .text("#figure-title")
            .starts_with("Encoder self-attention")
    );
    assert_ne!(picture(&mut browser), second);

    browser.click("[data-view=lines]");
    assert!(picture(&mut browser).starts_with("<svg"));
}

#[test]
fn a_token_keeps_the_focus_when_the_width_changes() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let folder = tempfile::tempdir().expect("the system has temporary directories");
    open(&mut browser, &write_page(folder.path()));
    browser.click("[data-view=lines]");
    browser.value("(window.before = document.querySelectorAll('.keys .token')[2]).focus()");
    let screen = json!({"width": 500, "height": 900, "deviceScaleFactor": 1, "mobile": false});
    browser.call("Emulation.setDeviceMetricsOverride", &screen);
    browser.wait_until("!window.before.isConnected");
    let focused = "document.activeElement === document.querySelectorAll('.keys .token')[2]";
    assert_eq!(browser.value(focused), true);
}

#[test]
fn colors_in_proportion_change_the_map_and_the_marks_of_its_legend() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let folder = tempfile::tempdir().expect("the system has temporary directories");
    open(&mut browser, &write_page(folder.path()));
    let by_root = picture(&mut browser);
    assert_eq!(browser.text("#marks"), "00.050.250.51");
    let half = "[...document.querySelectorAll('#marks span')].find((it) => it.textContent === '0.5').style.left";
    assert_eq!(
        browser.value(&format!("parseFloat({half}).toFixed(1)")),
        "70.7"
    );

    browser.click("#linear");
    assert_ne!(picture(&mut browser), by_root);
    assert_eq!(browser.text("#marks"), "00.250.50.751");
    assert_eq!(browser.value(half), "50%");
}

#[test]
fn a_page_of_all_heads_begins_with_a_color_for_each() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let folder = tempfile::tempdir().expect("the system has temporary directories");
    let attention = write_model(folder.path()).forced_attention("a bad cab", "feed");
    let attention = attention.expect("the lines are short");
    let selection = Selection {
        view: View::HeadLines,
        ..Selection::default()
    };
    let path = folder.path().join("page.html");
    let page = page(&attention, selection).expect("there are three layers");
    fs::write(&path, page).expect("the temporary directory is writable");
    open(&mut browser, &path);
    assert_eq!(browser.text("#swatches"), "head 1head 2head 3");
}

#[test]
fn pointing_at_a_token_shows_its_weights() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let folder = tempfile::tempdir().expect("the system has temporary directories");
    let path = folder.path().join("page.html");
    let page = page(&nasty(), Selection::default()).expect("there is one layer");
    fs::write(&path, page).expect("the temporary directory is writable");
    open(&mut browser, &path);

    browser.point_at(".rows .token:nth-child(1)");
    assert_eq!(
        browser.text("#reading .from"),
        "</script><script>looked = 1</script> attends to"
    );
    assert_eq!(browser.text(".bars .number"), "75 %");
    // Nothing in a token has run.
    assert_eq!(browser.value("typeof looked"), "undefined");
    assert_eq!(
        browser.value("document.title"),
        "Attention: </title><script>looked = 1</script>"
    );

    browser.point_at("#picture"); // its middle is the second cell of the second row
    assert_eq!(browser.text("#spoken"), "b attends to שלום: 0.5000");
    assert_eq!(
        browser.value("document.querySelectorAll('.band.on').length"),
        2
    );
}

/// Returns attention with tokens that look like markup or are written from right to left.
fn nasty() -> Attention {
    let token = |text: &str| Token {
        text: text.to_owned(),
        id: 4,
        word: Some(0),
    };
    let map = || {
        vec![vec![vec![
            vec![0.0, 0.25, 0.75],
            vec![0.25, 0.5, 0.25],
            vec![1.0, 0.0, 0.0],
        ]]]
    };
    Attention {
        src: "</title><script>looked = 1</script>".to_owned(),
        tgt: "<b>".to_owned(),
        src_tokens: ["e\u{301}", "▁שלום", "日本"].map(token).into(),
        tgt_tokens: ["</script><script>looked = 1</script>", "▁b", "</s>"]
            .map(token)
            .into(),
        encoder: map(),
        decoder: map(),
        cross: map(),
    }
}
