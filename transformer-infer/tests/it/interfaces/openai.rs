//! OpenAI's interface.

use serde_json::{Value, json};

use super::server::{KEY, TestServer, shared_server};

const PATH: &str = "/v1/chat/completions";

fn texts(reply: &Value) -> Vec<&str> {
    let choices = reply["choices"].as_array().expect("choices are an array");
    let texts = choices.iter().map(|it| it["message"]["content"].as_str());
    texts.map(|it| it.expect("a message has text")).collect()
}

#[test]
fn the_last_message_of_the_user_is_translated() {
    let reply = shared_server().post(
        PATH,
        &json!({
            "model": "en-de", "temperature": 0.2, "max_tokens": null, "stream": false,
            "messages": [
                { "role": "system", "content": "You are a translator. Translate to German." },
                { "role": "user", "content": "A cat." },
                { "role": "assistant", "content": "EINE KATZE." },
                { "role": "user", "content": "A dog. Two cats.\n\nThe end." },
                { "role": "tool", "content": null },
            ],
        }),
    );
    let reply = reply.ok();
    assert_eq!(texts(&reply), ["A DOG. TWO CATS.\n\nTHE END."]);
    assert_eq!(reply["object"], "chat.completion");
    assert_eq!(reply["model"], "en-de");
    assert_eq!(reply["choices"][0]["finish_reason"], "stop");
    assert_eq!(reply["choices"][0]["message"]["role"], "assistant");
}

#[test]
fn a_model_may_be_named_by_its_languages_or_its_target() {
    let names = shared_server().send("GET", "/v1/models", &[], b"").ok();
    let name = names["data"][0]["id"].as_str().expect("a model has a name");
    assert_eq!(names["object"], "list");
    for model in [
        name,
        "en-de",
        "auto-de",
        "de",
        "de-DE",
        "de-AT",
        "en-de-AT",
        "en-US-de",
        "auto-de-CH",
    ] {
        let message =
            json!({ "role": "user", "content": "Where is the next railway station, please?" });
        let reply = shared_server().post(PATH, &json!({ "model": model, "messages": [message] }));
        assert_eq!(
            texts(&reply.ok()),
            ["WHERE IS THE NEXT RAILWAY STATION, PLEASE?"],
            "{model}"
        );
    }
}

#[test]
fn there_are_as_many_choices_as_wanted() {
    for (content, best) in [("A dog.", "A DOG."), ("123", "123"), ("", "")] {
        for model in ["en-de", "en-US-de"] {
            let message = json!({ "role": "user", "content": content });
            let request = json!({ "model": model, "messages": [message], "n": 3 });
            let reply = shared_server().post(PATH, &request).ok();
            assert_eq!(
                (texts(&reply).len(), texts(&reply)[0]),
                (3, best),
                "{reply}"
            );
        }
    }
}

#[test]
fn parts_of_a_message_are_joined() {
    let parts = json!([{ "type": "text", "text": "A dog " }, { "type": "text", "text": "barks." }]);
    let message = json!({ "role": "user", "content": parts });
    let reply = shared_server().post(PATH, &json!({ "model": "en-de", "messages": [message] }));
    assert_eq!(texts(&reply.ok()), ["A DOG BARKS."]);
}

#[test]
fn a_stream_has_the_whole_text_and_an_end() {
    let message = json!({ "role": "user", "content": "A dog. A cat." });
    let request = json!({ "model": "en-de", "messages": [message], "stream": true });
    let headers = [("Content-Type", "application/json")];
    let reply = shared_server().send("POST", PATH, &headers, request.to_string().as_bytes());
    assert_eq!(reply.status, 200);
    let body = String::from_utf8(reply.body).expect("events are text");
    let data: Vec<&str> = body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .collect();
    assert_eq!(data.last(), Some(&"[DONE]"));
    let chunks = data[..data.len() - 1]
        .iter()
        .map(|it| serde_json::from_str(it));
    let chunks: Vec<Value> = chunks.collect::<Result<_, _>>().expect("chunks are JSON");
    let deltas = chunks
        .iter()
        .filter_map(|it| it["choices"][0]["delta"]["content"].as_str());
    assert_eq!(deltas.collect::<String>(), "A DOG. A CAT.");
    assert!(
        chunks
            .iter()
            .all(|it| it["object"] == "chat.completion.chunk")
    );
    assert_eq!(
        chunks[chunks.len() - 1]["choices"][0]["finish_reason"],
        "stop"
    );
}

#[test]
fn refusals_have_openais_form() {
    let message = json!({ "role": "user", "content": "A dog." });
    let picture = json!({ "role": "user", "content": [{ "type": "image_url", "image_url": {} }] });
    let system = json!({ "role": "system", "content": "A dog." });
    let cases = [
        (
            json!({ "model": "gpt-4o", "messages": [message] }),
            404,
            "gpt-4o",
        ),
        (json!({ "model": "en-de", "messages": [] }), 400, "`user`"),
        (
            json!({ "model": "en-de", "messages": [system] }),
            400,
            "`user`",
        ),
        (
            json!({ "model": "en-de", "messages": [message], "n": 0 }),
            400,
            "`n` is 0",
        ),
        (
            json!({ "model": "en-de", "messages": [picture] }),
            400,
            "`text`",
        ),
        (json!({ "messages": [message] }), 400, "model"),
    ];
    for (request, status, part) in cases {
        let reply = shared_server().post(PATH, &request);
        assert_eq!(reply.status, status, "{request}");
        let error = &reply.json()["error"];
        let text = error["message"].as_str().expect("an error has a message");
        assert!(text.contains(part), "{text}");
        assert_eq!(error["type"], "invalid_request_error");
    }
    let server = TestServer::with_key();
    let request = json!({ "model": "en-de", "messages": [message] });
    let reply = server.post(PATH, &request);
    assert_eq!(reply.status, 401);
    assert_eq!(reply.json()["error"]["code"], "invalid_api_key");
    let bearer = format!("Bearer {KEY}");
    let headers = [
        ("Content-Type", "application/json"),
        ("Authorization", &bearer),
    ];
    let reply = server.send("POST", PATH, &headers, request.to_string().as_bytes());
    assert_eq!(texts(&reply.ok()), ["A DOG."]);
}
