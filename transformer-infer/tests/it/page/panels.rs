//! What opens on demand: other translations, attention, files, settings.

use std::fs;

use serde_json::json;

use super::open_page::OpenPage;

#[test]
fn a_chosen_translation_replaces_the_sentence() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    page.type_text("A dog runs. A cat sleeps.");
    page.browser.click(".sentence:nth-of-type(2)");
    page.browser
        .wait_until("document.querySelectorAll('#alternatives-list [role=radio]').length > 1");
    let chosen = page
        .browser
        .text("#alternatives-list [aria-checked=false] bdi");
    assert_ne!(chosen, "A cat sleeps.");
    page.browser
        .click("#alternatives-list [aria-checked=false]");
    assert_eq!(page.translation(), format!("A dog runs. {chosen}"));
    page.assert_calm();
}

#[test]
fn the_attention_of_a_sentence_is_drawn() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    page.type_text("A dog runs.");
    page.browser.click(".sentence");
    page.browser.click("#explore");
    let frame = "document.querySelector('#attention iframe')?.contentDocument";
    page.browser
        .wait_until(&format!("{frame}?.querySelector('#picture') != null"));
    let source = page
        .browser
        .value(&format!("{frame}.querySelector('#src').textContent"));
    assert_eq!(source, "A dog runs.");
    page.browser.press("Escape");
    assert_eq!(
        page.browser
            .value("document.querySelector('#attention').open"),
        false
    );
    page.assert_calm();
}

#[test]
fn a_dropped_file_is_translated() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    if !page.has_libretranslate() {
        return;
    }
    let path = page.folder.path().join("letter.txt");
    fs::write(&path, "A dog runs.\n").expect("the temporary directory is writable");
    // The page may fetch nothing from its own memory.
    page.browser.value(
        "{ const { createObjectURL } = URL; URL.createObjectURL = (blob) => createObjectURL.call(URL, (window.saved = blob)); }",
    );
    let data = json!({"items": [], "files": [path], "dragOperationsMask": 1});
    for kind in ["dragEnter", "dragOver", "drop"] {
        let event = json!({"type": kind, "x": 200, "y": 300, "data": data});
        page.browser.call("Input.dispatchDragEvent", &event);
    }
    page.browser
        .wait_until("document.querySelector('.file a') !== null");
    let text = page.browser.value("window.saved.text()");
    assert_eq!(text, "A dog runs.\n");
    page.assert_calm();
}

#[test]
fn the_chosen_theme_is_remembered() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    let color = "getComputedStyle(document.documentElement).backgroundColor";
    let before = page.browser.value(color);
    page.browser.click("#theme");
    let after = page.browser.value(color);
    assert_ne!(after, before);
    page.load();
    assert_eq!(page.browser.value(color), after);
    page.assert_calm();
}
