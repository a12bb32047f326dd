//! What the page says when the server refuses, and what the page itself must not do.

use serde_json::{Value, json};

use super::open_page::OpenPage;

/// Answers the next request for a translation in the server's stead; `answer` are parameters of `Fetch.fulfillRequest`.
fn answer_next(page: &mut OpenPage, text: &str, answer: &Value) {
    let patterns = json!({"patterns": [{"urlPattern": "*/v1/translate"}]});
    page.browser.call("Fetch.enable", &patterns);
    page.browser
        .value("document.querySelector('#source').focus()");
    page.browser.insert(text);
    while page.browser.events("Fetch.requestPaused").is_empty() {
        page.browser.value("0");
    }
    let paused = page.browser.events("Fetch.requestPaused")[0]["requestId"].clone();
    let mut answer = answer.clone();
    answer["requestId"] = paused;
    page.browser.call("Fetch.fulfillRequest", &answer);
    page.browser.call("Fetch.disable", &json!({}));
}

/// Returns the answer of a server that has too much to do.
fn busy(retry_after: u32) -> Value {
    // {"error":"the server is busy"}
    let body = "eyJlcnJvciI6InRoZSBzZXJ2ZXIgaXMgYnVzeSJ9";
    let headers = json!([
        {"name": "content-type", "value": "application/json"},
        {"name": "retry-after", "value": retry_after.to_string()},
    ]);
    json!({"responseCode": 429, "responseHeaders": headers, "body": body})
}

#[test]
fn a_refusal_is_shown_in_words() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    answer_next(&mut page, "A dog runs.", &busy(3600));
    page.browser
        .wait_until("document.querySelector('.is-failed') !== null");
    let status = page.browser.text("#status");
    assert_eq!(status, "The server is busy. Trying again\u{2026}");
}

#[test]
fn a_busy_server_is_asked_again() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    answer_next(&mut page, "A dog runs.", &busy(0));
    page.wait_for_translation();
    assert_eq!(page.translation(), "A dog runs.");
    assert_eq!(page.browser.text("#status"), "");
    page.assert_calm();
}

#[test]
fn a_text_above_the_limit_is_not_sent() {
    let Some(mut page) = OpenPage::open_with(&["--max-chars", "20"]) else {
        return;
    };
    if !page.has_libretranslate() {
        return;
    }
    page.browser
        .value("document.querySelector('#source').focus()");
    page.browser.insert("A dog runs. A cat sleeps.");
    page.browser
        .wait_until("document.querySelector('.is-failed') !== null");
    assert_eq!(
        page.browser.text("#status"),
        "The text has 5 characters too many."
    );
    assert_eq!(page.browser.text("#count"), "25 / 20");
    assert!(page.sent().is_empty());
}

#[test]
fn a_script_made_of_text_does_not_run() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    let ran = page.browser.value(
        "(() => { try { const script = document.createElement('script'); script.textContent = 'window.ran = 1'; \
         document.body.append(script); } catch {} return typeof window.ran; })()",
    );
    assert_eq!(ran, "undefined");
}

#[test]
fn the_page_cannot_call_another_server() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    // Another port is another origin.
    let result = page.browser.value(
        "fetch('http://127.0.0.1:9/', { mode: 'no-cors' }).then(() => 'called', () => 'refused')",
    );
    assert_eq!(result, "refused");
    let violated = page.browser.events("Log.entryAdded").into_iter();
    let mut texts = violated.filter_map(|event| event["entry"]["text"].as_str());
    assert!(texts.any(|text| text.contains("Content Security Policy")));
}
