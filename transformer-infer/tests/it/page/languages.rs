//! The languages of the page and of texts, addresses with a text, the history, and glossaries as files.

use serde_json::json;

use super::open_page::{CHARACTERS, OpenPage, set_languages};
use crate::copy_model::write_copy_model;

/// Returns whether a text was sent for the detection of its language, after the pause for that.
fn was_sent_for_detection(page: &mut OpenPage) -> bool {
    // The timer of the detection was set before this one, and ends before it.
    page.browser
        .value("new Promise((resolve) => { setTimeout(resolve, 300); })");
    let requests = page.browser.events("Network.requestWillBeSent").into_iter();
    let mut addresses = requests.filter_map(|event| event["request"]["url"].as_str());
    addresses.any(|url| url.ends_with("/detect"))
}

#[test]
fn a_text_is_not_sent_for_detection_if_the_model_reads_one_language() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    page.type_text("Where is the next station?");
    assert!(!was_sent_for_detection(&mut page));
}

#[test]
fn a_text_is_sent_for_detection_as_the_settings_say() {
    let folder = tempfile::tempdir().expect("the system has temporary directories");
    let other = folder.path().join("other");
    write_copy_model(&other, CHARACTERS);
    set_languages(&other, "de", "en");
    let flags = ["--model", other.to_str().expect("it is text")];
    let Some(mut page) = OpenPage::open_with(&flags) else {
        return;
    };
    if !page.has_libretranslate() {
        return;
    }
    page.browser
        .value("document.querySelector('#automatic').click()");
    page.browser
        .value("document.querySelector('#source').focus()");
    page.browser.insert("Where is the next station?");
    assert!(!was_sent_for_detection(&mut page));
    page.browser.value(
        "{ const list = document.querySelector('#source-language'); list.value = 'auto'; \
         list.dispatchEvent(new Event('change')); }",
    );
    page.browser.wait_until(
        "document.querySelector('#source-language').selectedOptions[0].textContent === 'English, detected'",
    );
    assert!(was_sent_for_detection(&mut page));
    let is_hidden = "document.querySelector('#detection-note').hidden";
    assert_eq!(page.browser.value(is_hidden), false);
}

#[test]
fn the_page_speaks_the_language_of_the_browser() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    let preferred = json!({"userAgent": "test", "acceptLanguage": "sv,ar,de"});
    page.browser
        .call("Emulation.setUserAgentOverride", &preferred);
    page.load();
    let root = "[document.documentElement.lang, document.documentElement.dir]";
    assert_eq!(page.browser.value(root), json!(["ar", "rtl"]));
    let label = "document.querySelector('#open-settings').ariaLabel";
    assert_eq!(page.browser.value(label), "الإعدادات");
    let wide = "document.documentElement.scrollWidth > innerWidth";
    assert_eq!(page.browser.value(wide), false);
    page.assert_calm();
}

#[test]
fn an_address_has_a_text_and_its_languages() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    page.address += "?q=A%20dog%20runs.&source=en&target=de";
    page.load();
    page.wait_for_translation();
    assert_eq!(page.translation(), "A dog runs.");
}

#[test]
fn an_earlier_translation_is_shown_again() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    page.type_text("A dog runs.");
    page.browser.click("#clear");
    page.type_text("Two cats.");
    page.browser.click("[popovertarget=history]");
    page.browser
        .wait_until("document.querySelectorAll('#history-list button').length === 2");
    page.browser.click("#history-list button:last-child");
    page.wait_for_translation();
    assert_eq!(page.translation(), "A dog runs.");
    page.assert_calm();
}

#[test]
fn a_glossary_comes_back_from_its_files() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    let found = page.browser.value(
        "(async () => {
            const { csvOf, linesOfFile, tbxOf } = await import('./page/text/terms.js');
            const { parseGlossary } = await import('./page/text/glossary.js');
            const terms = { 'a \"dog\"': 'Hund, <der> & so', cat: 'Katze' };
            const pair = { source: 'en', target: 'de' };
            return [csvOf(terms), tbxOf(terms, pair)].map((file) => parseGlossary(linesOfFile(file, pair)));
        })()",
    );
    let terms = json!({"a \"dog\"": "Hund, <der> & so", "cat": "Katze"});
    assert_eq!(found, json!([terms, terms]));
}

/// TBX-Basic of version 2, as in the examples of <https://www.tbxinfo.net>, and CSV with languages, as DeepL takes it.
#[test]
fn glossaries_of_other_programs_are_read() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    let found = page.browser.value(
        "(async () => {
            const { linesOfFile } = await import('./page/text/terms.js');
            const tbx = `<?xml version='1.0'?><martif type='TBX-Basic' xml:lang='en'><text><body>
                <termEntry id='c5'><langSet xml:lang=\"en-US\"><tig><term>e-mail</term>
                <termNote type='partOfSpeech'>noun</termNote></tig></langSet>
                <langSet xml:lang=\"de\"><ntig><termGrp><term>E&#x2D;Mail</term></termGrp></ntig></langSet>
                <langSet xml:lang=\"fr\"><tig><term>courriel</term></tig></langSet></termEntry></body></text></martif>`;
            const csv = 'dog,Hund,en,de\\n\"the \"\"cat\"\"\",Katze,EN,DE\\nHund,dog,de,en';
            const pair = { source: 'en', target: 'de' };
            return [tbx, csv, 'no glossary'].map((file) => linesOfFile(file, pair));
        })()",
    );
    let expected = json!(["e-mail = E-Mail", "dog = Hund\nthe \"cat\" = Katze", ""]);
    assert_eq!(found, expected);
}
