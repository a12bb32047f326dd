//! Glossaries of DeepL's interface.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tempfile::TempDir;
use transformer_infer::serve::ServeOptions;

use super::server::{KEY, Reply, TestServer, shared_server};

fn folder() -> TempDir {
    tempfile::tempdir().expect("the system has temporary directories")
}

/// Starts a server between English and German that stores glossaries in a folder.
fn server(folder: &Path) -> TestServer {
    let options = ServeOptions {
        glossaries: Some(folder.to_owned()),
        ..ServeOptions::default()
    };
    TestServer::of_pairs(&[("en", "de"), ("de", "en")], options)
}

/// Stores a glossary from English to German, and returns its description.
fn stored(server: &TestServer, entries: &str) -> Value {
    let request = json!({
        "name": "animals", "source_lang": "EN", "target_lang": "de-AT", "entries": entries, "entries_format": "tsv",
    });
    let reply = server.post("/v2/glossaries", &request);
    assert_eq!(reply.status, 201, "{reply:?}");
    reply.json()
}

fn id(glossary: &Value) -> &str {
    glossary["glossary_id"].as_str().expect("it has an id")
}

/// Returns a dictionary of a request.
fn dictionary(source: &str, target: &str, entries: &str) -> Value {
    json!({ "source_lang": source, "target_lang": target, "entries": entries, "entries_format": "tsv" })
}

fn message(reply: &Reply) -> String {
    reply.json()["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn a_glossary_is_stored_used_and_deleted() {
    let folder = folder();
    let server = server(folder.path());
    let created = stored(&server, "dog\thund\ncat\tkatze\n");
    let path = format!("/v2/glossaries/{}", id(&created));
    assert_eq!(created["entry_count"], 2);
    assert_eq!(created["ready"], true);
    assert_eq!(created["target_lang"], "de");
    assert_eq!(server.get(&path).ok(), created);
    let list = server.get("/v2/glossaries").ok();
    assert_eq!(list, json!({ "glossaries": [created] }));
    let entries = server.get(&format!("{path}/entries"));
    assert_eq!(entries.body, b"dog\thund\ncat\tkatze");
    assert!(entries.headers["content-type"].starts_with("text/tab-separated-values"));

    let request = json!({
        "text": ["a dog"], "source_lang": "EN", "target_lang": "DE", "glossary_id": id(&created),
    });
    let reply = server.post("/v2/translate", &request).ok();
    let text = reply["translations"][0]["text"].to_string();
    assert!(text.contains("hund"), "{text}");
    for tags in ["html", "xml"] {
        let mut request = request.clone();
        request["tag_handling"] = tags.into();
        request["text"] = json!(["<p>a dog</p>"]);
        let reply = server.post("/v2/translate", &request).ok();
        let text = reply["translations"][0]["text"].to_string();
        assert!(text.contains("hund"), "{tags}: {text}");
    }

    assert_eq!(server.send("DELETE", &path, &[], b"").status, 204);
    assert_eq!(server.get(&path).status, 404);
    let reply = server.post("/v2/translate", &request);
    assert_eq!(
        (reply.status, message(&reply)),
        (400, "Glossary not found".to_owned())
    );
}

#[test]
fn a_text_that_is_a_term_is_translated_by_it_alone() {
    let folder = folder();
    let server = server(folder.path());
    let created = stored(&server, "dog\thund\nred dog\troter hund\n");
    let request = json!({
        "text": [" red  dog\n", "dog", "dogs"], "source_lang": "EN", "target_lang": "DE", "glossary_id": id(&created),
    });
    let reply = server.post("/v2/translate", &request).ok();
    let texts = [0, 1, 2].map(|index| reply["translations"][index]["text"].clone());
    assert_eq!(texts, [" roter hund\n", "hund", "DOGS"]);

    let created = stored(&server, "dog\thund & katz\n");
    let request = json!({
        "text": ["<p>dog</p>", "dog"], "source_lang": "EN", "target_lang": "DE", "tag_handling": "html",
        "glossary_id": id(&created),
    });
    let reply = server.post("/v2/translate", &request).ok();
    let texts = [0, 1].map(|index| reply["translations"][index]["text"].clone());
    assert_eq!(texts, ["<p>hund &amp; katz</p>", "hund &amp; katz"]);
}

#[test]
fn a_document_has_the_terms_of_a_glossary() {
    let folder = folder();
    let server = server(folder.path());
    let created = stored(&server, "dog\thund\n");
    let fields = [
        ("source_lang", "EN"),
        ("target_lang", "DE"),
        ("glossary_id", id(&created)),
    ];
    let handle = server
        .post_file("/v2/document", &fields, ("a.txt", b"a dog\n\ndog\n"))
        .ok();
    let path = format!("/v2/document/{}", id_of_document(&handle));
    let key = json!({ "document_key": handle["document_key"] });
    while server.post(&path, &key).ok()["status"] == "translating" {}
    let reply = server.post(&format!("{path}/result"), &key);
    let text = String::from_utf8_lossy(&reply.body);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("hund"), "{text}");
    assert_eq!(lines[1..], ["", "hund"]);
}

fn id_of_document(handle: &Value) -> &str {
    handle["document_id"].as_str().expect("it has an id")
}

#[test]
fn a_glossary_of_several_languages_is_changed_dictionary_by_dictionary() {
    let folder = folder();
    let server = server(folder.path());
    let both = [
        dictionary("en", "de", "dog\thund"),
        dictionary("de", "en", "hund\tdog"),
    ];
    let request = json!({ "name": "animals", "dictionaries": both });
    let created = server.post("/v3/glossaries", &request);
    assert_eq!(created.status, 201);
    let path = format!("/v3/glossaries/{}", id(&created.json()));
    assert_eq!(
        created.json()["dictionaries"].as_array().map(Vec::len),
        Some(2)
    );
    let of_one_pair = server.get("/v2/glossaries").ok();
    assert_eq!(of_one_pair, json!({ "glossaries": [] }));

    let more = json!({
        "name": "pets", "dictionaries": [dictionary("EN", "DE", "dog\tdackel\ncat\tkatze")],
    });
    let changed = server.json("PATCH", &path, &more).ok();
    assert_eq!(changed["name"], "pets");
    assert_eq!(changed["dictionaries"][0]["entry_count"], 2);
    let entries = format!("{path}/entries?source_lang=en&target_lang=de");
    let of_pair = server.get(&entries).ok();
    assert_eq!(
        of_pair["dictionaries"][0]["entries"],
        "dog\tdackel\ncat\tkatze"
    );

    let dictionaries = format!("{path}/dictionaries");
    let put = server.json("PUT", &dictionaries, &dictionary("en", "de", "cow\tkuh"));
    assert_eq!(put.ok()["entry_count"], 1);
    let of_pair = server.get(&entries).ok();
    assert_eq!(of_pair["dictionaries"][0]["entries"], "cow\tkuh");

    let german = format!("{dictionaries}?source_lang=de&target_lang=en");
    assert_eq!(server.send("DELETE", &german, &[], b"").status, 204);
    assert_eq!(server.send("DELETE", &german, &[], b"").status, 404);
    let left = server.get(&path).ok();
    assert_eq!(left["dictionaries"].as_array().map(Vec::len), Some(1));
    assert_eq!(server.send("DELETE", &path, &[], b"").status, 204);
    assert_eq!(
        server.get("/v3/glossaries").ok(),
        json!({ "glossaries": [] })
    );
}

#[test]
fn of_several_glossaries_the_first_with_a_term_counts() {
    let folder = folder();
    let server = server(folder.path());
    let ids = ["dog\thund", "dog\tdackel\ncat\tkatze"].map(|it| {
        let created = stored(&server, it);
        id(&created).to_owned()
    });
    let request = json!({
        "text": ["a dog", "a cat"], "source_lang": "EN", "target_lang": "DE", "glossary_ids": ids,
    });
    let reply = server.post("/v2/translate", &request).ok();
    let text = |index: usize| reply["translations"][index]["text"].to_string();
    assert!(
        text(0).contains("hund") && text(1).contains("katze"),
        "{reply}"
    );
}

#[test]
fn servers_that_share_a_folder_lose_no_change() {
    let folder = folder();
    let servers = [server(folder.path()), server(folder.path())];
    let created = stored(&servers[0], "dog\thund\n");
    let path = format!("/v3/glossaries/{}", id(&created));
    let v2 = format!("/v2/glossaries/{}", id(&created));
    assert_eq!(servers[1].get(&v2).ok(), created);
    thread::scope(|scope| {
        for (server, name) in servers.iter().zip(["a", "b"]) {
            let path = &path;
            scope.spawn(move || {
                for number in 0..10 {
                    let entries = format!("{name}{number}\tx");
                    let more = json!({ "dictionaries": [dictionary("en", "de", &entries)] });
                    server.json("PATCH", path, &more).ok();
                }
            });
        }
    });
    assert_eq!(servers[0].get(&v2).ok()["entry_count"], 21);
}

#[test]
fn a_key_sees_only_its_own_glossaries() {
    const OTHER: &str = "fedcba9876543210";
    let folder = folder();
    let keys = folder.path().join("keys");
    fs::write(&keys, format!("{KEY}\n{OTHER}\n")).expect("the folder is writable");
    let server = TestServer::start_with(ServeOptions {
        api_keys: Some(keys),
        glossaries: Some(folder.path().join("glossaries")),
        ..ServeOptions::default()
    });
    let send = |key: &str, method: &str, path: &str, body: &str| {
        let key = format!("DeepL-Auth-Key {key}");
        let headers = [
            ("Authorization", key.as_str()),
            ("Content-Type", "application/json"),
        ];
        server.send(method, path, &headers, body.as_bytes())
    };
    let request = json!({
        "name": "a", "source_lang": "en", "target_lang": "de", "entries": "a\tb", "entries_format": "tsv",
    });
    let created = send(KEY, "POST", "/v2/glossaries", &request.to_string()).json();
    let path = format!("/v2/glossaries/{}", id(&created));
    assert_eq!(send(OTHER, "GET", &path, "").status, 404);
    assert_eq!(send(OTHER, "DELETE", &path, "").status, 404);
    let others = send(OTHER, "GET", "/v3/glossaries", "").ok();
    assert_eq!(others, json!({ "glossaries": [] }));
    assert_eq!(send(KEY, "GET", &path, "").status, 200);
}

/// Makes the file of a glossary of an account larger, without taking room on the disk.
fn enlarge(folder: &Path, glossary: &Value, n_bytes: u64) {
    let path = folder.join(id(glossary)).with_extension("glossary");
    let file = fs::File::options().append(true).open(path);
    let file = file.expect("the server wrote it");
    file.set_len(n_bytes).expect("the file system has room");
}

#[test]
fn a_key_leaves_others_as_much_room_as_its_glossaries_take() {
    const OTHER: &str = "fedcba9876543210";
    let folder = folder();
    let keys = folder.path().join("keys");
    fs::write(&keys, format!("{KEY}\n{OTHER}\n")).expect("the folder is writable");
    let glossaries = folder.path().join("glossaries");
    let server = TestServer::start_with(ServeOptions {
        api_keys: Some(keys),
        glossaries: Some(glossaries.clone()),
        ..ServeOptions::default()
    });
    let send = |key: &str, method: &str, path: &str, body: &Value| {
        let key = format!("DeepL-Auth-Key {key}");
        let headers = [
            ("Authorization", key.as_str()),
            ("Content-Type", "application/json"),
        ];
        server.send(method, path, &headers, body.to_string().as_bytes())
    };
    let request = json!({ "name": "a", "dictionaries": [dictionary("en", "de", "a\tb")] });
    let create = |key: &str| send(key, "POST", "/v3/glossaries", &request);
    let first = create(KEY).json();
    enlarge(&glossaries, &first, (1 << 29) - 1000);
    let second = create(KEY);
    assert_eq!(second.status, 201, "{second:?}");
    enlarge(&glossaries, &second.json(), 1000);
    let refused = create(KEY);
    assert_eq!(
        (refused.status, message(&refused)),
        (
            456,
            "your glossaries would have more than your share of 536870912 bytes; delete one, or make \
             it smaller"
                .to_owned()
        )
    );
    assert_eq!(create(OTHER).status, 201);

    // A glossary may get smaller, even beyond the share, which is less now.
    let path = format!("/v3/glossaries/{}", id(&first));
    let shorter = json!({ "name": "b" });
    assert_eq!(send(KEY, "PATCH", &path, &shorter).status, 200);
    assert_eq!(create(KEY).status, 201);
}

#[test]
fn files_that_a_killed_server_did_not_finish_are_removed_at_the_start() {
    let folder = folder();
    let [killed, old, new] =
        ["a", "b", "c"].map(|it| folder.path().join(format!(".unfinished-{it}")));
    fs::write(&killed, "{").expect("the folder is writable");
    let _server = server(folder.path());
    assert!(!killed.exists());

    // Another server may be writing while it holds the lock.
    let lock = fs::File::create(folder.path().join(".lock")).expect("the folder is writable");
    lock.lock().expect("nothing else holds it");
    for path in [&old, &new] {
        fs::write(path, "{").expect("the folder is writable");
    }
    let file = fs::File::options().append(true).open(&old);
    let yesterday = SystemTime::now() - Duration::from_secs(86_400);
    let dated = file.and_then(|file| file.set_modified(yesterday));
    dated.expect("the file is ours");
    let _other = server(folder.path());
    assert_eq!([&old, &new].map(|path| path.exists()), [false, true]);
}

#[test]
fn wrong_requests_about_glossaries_are_refused() {
    let folder = folder();
    let server = server(folder.path());
    let good = json!({
        "name": "a", "source_lang": "en", "target_lang": "de", "entries": "a\tb", "entries_format": "tsv",
    });
    for (name, value, expected) in [
        (
            "name",
            json!(""),
            "Missing or invalid argument: name; give 1 to 1024 characters",
        ),
        (
            "target_lang",
            json!("xx"),
            "Unsupported glossary source and target language pair",
        ),
        (
            "entries_format",
            json!("json"),
            "Value for 'entries_format' not supported.",
        ),
        (
            "entries",
            json!("a\tb\nc"),
            "Invalid glossary entries provided: line 2 has no tab between two terms",
        ),
    ] {
        let mut request = good.clone();
        request[name] = value;
        let reply = server.post("/v2/glossaries", &request);
        assert_eq!((reply.status, message(&reply)), (400, expected.to_owned()));
    }
    for (id, status) in [
        ("96ab91fd-e715-41a1-adeb-5d701f84a483", 404),
        ("invalid_glossary_id", 400),
        ("..%2F..%2Fetc%2Fpasswd", 400),
    ] {
        for version in ["v2", "v3"] {
            let path = format!("/{version}/glossaries/{id}");
            assert_eq!(server.get(&path).status, status, "{path}");
            assert_eq!(
                server.send("DELETE", &path, &[], b"").status,
                status,
                "{path}"
            );
        }
    }
    let mut request = json!({ "text": ["a"], "target_lang": "DE" });
    request["glossary_id"] = "96ab91fd-e715-41a1-adeb-5d701f84a483".into();
    let reply = server.post("/v2/translate", &request);
    assert_eq!(
        message(&reply),
        "Use of a glossary requires the source_lang parameter to be specified"
    );
}

#[test]
fn a_server_without_a_folder_has_no_glossaries() {
    let server = shared_server();
    assert_eq!(
        server.get("/v2/glossaries").ok(),
        json!({ "glossaries": [] })
    );
    let pairs = server.get("/v2/glossary-language-pairs").ok();
    let expected = json!([{ "source_lang": "en", "target_lang": "de" }]);
    assert_eq!(pairs["supported_languages"], expected);
    let request = json!({
        "name": "a", "source_lang": "en", "target_lang": "de", "entries": "a\tb", "entries_format": "tsv",
    });
    let reply = server.post("/v2/glossaries", &request);
    assert_eq!(reply.status, 400);
    assert!(message(&reply).contains("--glossaries"), "{reply:?}");
}
