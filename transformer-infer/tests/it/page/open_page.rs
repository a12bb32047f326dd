//! [`OpenPage`]: a server, and a browser that shows its page.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::chromium::Browser;
use crate::copy_model::write_copy_model;

/// What the model can copy.
pub(super) const CHARACTERS: &str =
    "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ.,!?\u{e9}\u{1f600}";

/// A browser that shows the page of a server, which both end on drop.
pub(super) struct OpenPage {
    pub(super) browser: Browser,
    pub(super) address: String,
    pub(super) folder: tempfile::TempDir,
    server: Child,
}

impl OpenPage {
    /// Starts a server and a browser, if that is installed, and waits until the page is ready.
    pub(super) fn open() -> Option<Self> {
        Self::open_with(&[])
    }

    /// Does the same with flags of the server.
    pub(super) fn open_with(flags: &[&str]) -> Option<Self> {
        let mut browser = Browser::start()?;
        let folder = tempfile::tempdir().expect("the system has temporary directories");
        let model = folder.path().join("copy");
        write_copy_model(&model, CHARACTERS);
        set_languages(&model, "en", "de");
        let (server, address) = serve(&model, flags);
        for domain in ["Network", "Log", "Runtime", "Page"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        let mut page = Self {
            browser,
            address,
            folder,
            server,
        };
        page.load();
        Some(page)
    }

    /// Loads the page, as for the first time or again.
    pub(super) fn load(&mut self) {
        self.browser.open(&self.address);
        self.browser
            .wait_until("document.documentElement?.dataset.ready !== undefined");
    }

    /// Returns whether the server says its limits and translates files, which are parts of LibreTranslate's interface.
    #[expect(
        clippy::print_stderr,
        reason = "who reads the results must know what did not run"
    )]
    pub(super) fn has_libretranslate(&mut self) -> bool {
        let status = "fetch('frontend/settings').then((reply) => reply.status)";
        let has = self.browser.value(status) == 200;
        if !has {
            eprintln!("skipped: this server has no interface of LibreTranslate");
        }
        has
    }

    /// Types at the end of the text, and waits for the translation.
    pub(super) fn type_text(&mut self, text: &str) {
        self.browser
            .value("document.querySelector('#source').focus()");
        self.browser.insert(text);
        self.wait_for_translation();
    }

    /// Replaces a part of the text, as a user does who selects it and types, and waits for the translation.
    pub(super) fn replace(&mut self, old: &str, new: &str) {
        let [old, length] = [json!(old), json!(old.len())];
        self.browser.value(&format!(
            "{{ const field = document.querySelector('#source'); const at = field.value.indexOf({old}); \
             field.focus(); field.setSelectionRange(at, at + {length}); }}"
        ));
        self.browser.insert(new);
        self.wait_for_translation();
    }

    /// Waits until nothing is pending.
    pub(super) fn wait_for_translation(&mut self) {
        self.browser.wait_until(
            "document.querySelector('.sentence') !== null && document.querySelector('.pending') === null",
        );
    }

    /// Returns the translation as it is shown.
    pub(super) fn translation(&mut self) -> String {
        self.browser.text("#output")
    }

    /// Returns the texts of all requests for translations so far.
    pub(super) fn sent(&mut self) -> Vec<Value> {
        self.browser.value("0"); // reads the events before it
        let requests = self.browser.events("Network.requestWillBeSent").into_iter();
        let requests = requests.map(|event| &event["request"]);
        let bodies = requests
            .filter(|it| {
                it["url"]
                    .as_str()
                    .is_some_and(|url| url.ends_with("/v1/translate"))
            })
            .filter_map(|it| it["postData"].as_str());
        bodies
            .map(|body| serde_json::from_str::<Value>(body).expect("the page sends JSON"))
            .map(|body| body["text"].clone())
            .collect()
    }

    /// Asserts that all requests went to the server, and that no script failed or violated the policy.
    pub(super) fn assert_calm(&mut self) {
        self.browser.value("0");
        for event in self.browser.events("Network.requestWillBeSent") {
            let url = event["request"]["url"]
                .as_str()
                .expect("a request has an address");
            let own = ["data:", "blob:", &self.address];
            assert!(own.iter().any(|start| url.starts_with(start)), "{url}");
        }
        let thrown = self.browser.events("Runtime.exceptionThrown");
        assert!(thrown.is_empty(), "{thrown:?}");
        let called = self.browser.events("Runtime.consoleAPICalled");
        assert!(called.is_empty(), "{called:?}");
        // A refusal that a test provokes is an error of the network; recommendations are no errors.
        let logged = self.browser.events("Log.entryAdded").into_iter();
        let logged = logged.map(|it| &it["entry"]);
        let logged = logged.filter(|it| it["level"] == "error" && it["source"] != "network");
        let logged: Vec<&Value> = logged.collect();
        assert!(logged.is_empty(), "{logged:?}");
    }
}

impl Drop for OpenPage {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Writes the languages into a model's manifest.
pub(super) fn set_languages(model: &Path, from: &str, to: &str) {
    let path = model.join("manifest.json");
    let text = fs::read_to_string(&path).expect("a model has a manifest");
    let mut manifest: Value = serde_json::from_str(&text).expect("the manifest is JSON");
    manifest["training"]["src_lang"] = from.into();
    manifest["training"]["tgt_lang"] = to.into();
    fs::write(&path, manifest.to_string()).expect("the temporary directory is writable");
}

/// Starts a server on a free port, and returns it with the address of its page.
fn serve(model: &Path, flags: &[&str]) -> (Child, String) {
    let mut server = Command::new(env!("CARGO_BIN_EXE_transformer-infer"))
        .args(["serve", "--port", "0", "--model"])
        .arg(model)
        .args(flags)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("cargo has built the program");
    let output = server.stdout.take().expect("standard output is piped");
    let mut address = String::new();
    let read = BufReader::new(output).read_line(&mut address);
    read.expect("the server prints its address");
    (server, format!("{}/", address.trim_end()))
}
