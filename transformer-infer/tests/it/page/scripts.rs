//! The scripts of the page by themselves, called in the browser.

use serde_json::json;

use super::open_page::OpenPage;

#[test]
fn pieces_are_the_text_after_any_edits() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    let seed = 7;
    let script = "(async () => {
        const { edited, sourceOf } = await import('./page/text/pieces.js');
        let state = SEED;
        const random = (n) => {
            state = (state * 1103515245 + 12345) % 2147483648;
            return Math.floor((state / 2147483648) * n);
        };
        const alphabet = [...'ab .\\n\"(\\u00e9', '\\u{1f600}', '\\r\\n', '  '];
        const word = (n) => Array.from({ length: random(n) }, () => alphabet[random(alphabet.length)]).join('');
        let [pieces, text] = [[], ''];
        for (let n = 0; n < 3000; n++) {
            const from = random(text.length + 1);
            text = text.slice(0, from) + word(5) + text.slice(Math.min(text.length, from + random(4)));
            if (text.length > 80) text = text.slice(40);
            pieces = edited(pieces, text);
            if (sourceOf(pieces) !== text) return `edit ${n}: ${JSON.stringify(text)}`;
            pieces = pieces.map((it) => it.kind === 'pending' && random(2)
                ? { kind: 'sentence', source: it.source, target: it.source, links: [] } : it);
        }
        return 'equal';
    })()";
    let result = page
        .browser
        .value(&script.replace("SEED", &seed.to_string()));
    assert_eq!(result, "equal", "seed {seed}");
}

/// Returns the kinds and sources of the pieces of a text of translated sentences after an edit.
fn kinds_after(page: &mut OpenPage, sentences: &[&str], new_text: &str) -> serde_json::Value {
    page.browser.value(&format!(
        "(async () => {{
            const {{ edited, gap }} = await import('./page/text/pieces.js');
            const pieces = {}.flatMap((it) => it.trim() === '' ? [gap(it)]
                : [{{ kind: 'sentence', source: it, target: it, links: [] }}]);
            return edited(pieces, {}).map((it) => `${{it.kind}}: ${{it.source}}`);
        }})()",
        json!(sentences),
        json!(new_text),
    ))
}

#[test]
fn an_edit_at_the_start_of_a_sentence_reaches_the_one_before() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    let sentences = ["It is.", " ", "See p.", " ", "Five."];
    let pieces = kinds_after(&mut page, &sentences, "It is. See p. five.");
    assert_eq!(
        pieces,
        json!(["sentence: It is.", "gap:  ", "pending: See p. five."])
    );
}

#[test]
fn a_quote_reaches_its_whole_line_and_no_other() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    let sentences = ["It is.", "\n", "One.", " ", "Two."];
    let pieces = kinds_after(&mut page, &sentences, "It is.\n\"One. Two.");
    assert_eq!(
        pieces,
        json!(["sentence: It is.", "gap: \n", "pending: \"One. Two."])
    );
}

#[test]
fn events_are_read_from_any_chunks() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    let script = "(async () => {
        const { readEvents } = await import('./page/events.js');
        const bytes = new TextEncoder().encode(
            ': comment\\n\\nevent: a\\ndata: 1\\ndata:\\u00e9\\n\\nevent: b\\r\\ndata: {}\\r\\n\\r\\ndata: \\u{1f600}\\n\\ndata: cut');
        const all = [];
        for (const size of [1, 2, 3, bytes.length]) {
            const chunks = new ReadableStream({ start(control) {
                for (let at = 0; at < bytes.length; at += size) control.enqueue(bytes.slice(at, at + size));
                control.close();
            } });
            const events = [];
            for await (const { event, data } of readEvents(chunks)) events.push(`${event} ${data}`);
            all.push(events);
        }
        return all;
    })()";
    let expected = ["a 1\n\u{e9}", "b {}", "message \u{1f600}"];
    assert_eq!(
        page.browser.value(script),
        serde_json::Value::from(vec![json!(expected); 4])
    );
}

#[test]
fn code_points_become_utf_16_units() {
    let Some(mut page) = OpenPage::open() else {
        return;
    };
    let script = "(async () => {
        const { countCodePoints, toUnits } = await import('./page/text/units.js');
        const text = 'a\\u{1f600}\\u00e9\\u{1f600}b';
        return [countCodePoints(text), [0, 1, 2, 3, 4, 5].map(toUnits(text))];
    })()";
    assert_eq!(page.browser.value(script), json!([5, [0, 1, 3, 4, 6, 7]]));
}
