//! Text that is typed, changed, and pointed at.

use serde_json::json;

use super::open_page::OpenPage;

#[test]
fn typed_text_is_translated_with_its_line_breaks() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    page.type_text("A dog runs. A cat sleeps.\n\n  It rains! ");
    assert_eq!(
        page.translation(),
        "A dog runs. A cat sleeps.\n\n  It rains! "
    );
    let n_sentences = page
        .browser
        .value("document.querySelectorAll('.sentence').length");
    assert_eq!(n_sentences, 3);
    page.assert_calm();
}

#[test]
fn only_changed_sentences_are_sent_again() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    page.type_text("A dog runs. A cat sleeps. It rains.");
    page.replace("cat", "cow");
    assert_eq!(page.translation(), "A dog runs. A cow sleeps. It rains.");
    let expected = [
        json!(["A dog runs. A cat sleeps. It rains."]),
        json!(["A cow sleeps."]),
    ];
    assert_eq!(page.sent(), expected);
}

#[test]
fn a_sentence_that_was_translated_before_is_not_sent_again() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    page.type_text("A dog runs.");
    page.replace("dog", "cow");
    let n_sent = page.sent().len();
    page.replace("cow", "dog");
    assert_eq!(page.translation(), "A dog runs.");
    assert_eq!(page.sent().len(), n_sent);
}

/// Returns the marked words of the text and of the translation.
fn marked(page: &mut OpenPage) -> serde_json::Value {
    page.browser.value(
        "[...document.querySelectorAll('#mirror mark, .is-marked')].map((it) => it.textContent)",
    )
}

#[test]
fn pointing_at_a_word_of_the_translation_marks_the_word_of_the_text() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    page.type_text("\u{1f600} A dog runs. A cat sleeps.");
    page.browser.point_at(".sentence:nth-of-type(2)"); // cuts it into words
    page.browser
        .point_at(".sentence:nth-of-type(2) .word:nth-of-type(3)");
    page.browser
        .wait_until("document.querySelector('#mirror mark') !== null");
    assert_eq!(marked(&mut page), json!(["sleeps", "sleeps"]));
    page.assert_calm();
}

#[test]
fn the_word_at_the_caret_is_marked_in_the_translation() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    page.type_text("A dog runs. A cat sleeps.");
    page.browser
        .value("document.querySelector('#source').setSelectionRange(15, 15)");
    page.browser
        .wait_until("document.querySelector('.is-marked') !== null");
    assert_eq!(marked(&mut page), json!(["cat", "cat"]));
}

#[test]
fn pointing_at_a_word_of_the_text_marks_the_word_of_the_translation() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    page.type_text("A dog runs.");
    page.browser
        .value("document.querySelector('#source').blur()");
    // The copy behind the field knows where the words are.
    let middle = page.browser.value(
        "(() => { const range = document.createRange(); const text = document.querySelector('#mirror > div').firstChild; \
         range.setStart(text, 3); range.setEnd(text, 4); const box = range.getBoundingClientRect(); \
         return { type: 'mouseMoved', x: box.x + box.width / 2, y: box.y + box.height / 2 } })()",
    );
    page.browser.call("Input.dispatchMouseEvent", &middle);
    page.browser
        .wait_until("document.querySelector('.is-marked') !== null");
    assert_eq!(marked(&mut page), json!(["dog", "dog"]));
}
