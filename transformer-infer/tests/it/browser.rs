//! The attention page in a browser: clicks and keys in Chromium change the figure.
//!
//! Chromium is controlled by its DevTools protocol over a pipe: JSON messages, each ended by a NUL. It is searched for on
//! the `PATH`; without it the tests print a note and pass.
//!
//! A browser takes seconds to start. These tests still run by default, because no others execute the page's script.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use serde_json::{Value, json};
use transformer_infer::attention::{Attention, Selection, Token, page};

use crate::model::write_model;

const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// How long a page or an exit may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page, which exits on drop.
struct Browser {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    session: Option<Value>,
    n_calls: u64,
    /// The folder of the browser's profile.
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts the browser, if it is installed.
    #[expect(
        clippy::print_stderr,
        reason = "who reads the results must know what did not run"
    )]
    fn start() -> Option<Self> {
        let Some(program) = program() else {
            eprintln!("skipped: no Chromium on the PATH; install `chromium` to run this test");
            return None;
        };
        let profile = tempfile::tempdir().expect("the system has temporary directories");
        // The browser reads its file 3 and writes its file 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"])
            .arg(program)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .args(["--remote-debugging-pipe", "--window-size=1400,900"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("every Unix has a shell");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("standard output is piped"));
        let mut browser = Self {
            child,
            input,
            output,
            session: None,
            n_calls: 0,
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", &attach);
        browser.session = Some(session["sessionId"].clone());
        Some(browser)
    }

    /// Calls a method of the protocol, and waits for its result.
    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.n_calls += 1;
        let mut message = json!({"id": self.n_calls, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = session.clone();
        }
        let input = self
            .input
            .as_mut()
            .expect("the browser was not told to end");
        write!(input, "{message}\0").expect("the browser listens");
        loop {
            let mut answer = Vec::new();
            self.output
                .read_until(0, &mut answer)
                .expect("the pipe is readable");
            assert_eq!(
                answer.pop(),
                Some(0),
                "the browser ended; its call was {method}"
            );
            let answer: Value = serde_json::from_slice(&answer).expect("the protocol is JSON");
            // What has no number of ours is news, which nobody asked for.
            if answer["id"] == self.n_calls {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// Opens a page, and waits until its script has run.
    fn open(&mut self, path: &Path) {
        let url = format!("file://{}", path.display());
        self.call("Page.navigate", &json!({"url": url}));
        let started = Instant::now();
        while self.value("document.querySelector('#picture') !== null") != true {
            assert!(started.elapsed() < PATIENCE, "the page draws nothing");
        }
    }

    /// Evaluates a JavaScript expression.
    fn value(&mut self, expression: &str) -> Value {
        let arguments = json!({"expression": expression, "returnByValue": true});
        let result = self.call("Runtime.evaluate", &arguments);
        assert!(
            result["exceptionDetails"].is_null(),
            "{expression}: {result}"
        );
        result["result"]["value"].clone()
    }

    /// Moves the mouse to the middle of an element.
    fn point_at(&mut self, selector: &str) -> Value {
        let rectangle = format!(
            "(() => {{ const element = document.querySelector(`{selector}`); element.scrollIntoView(); \
             const box = element.getBoundingClientRect(); \
             return {{ x: box.x + box.width / 2, y: box.y + box.height / 2 }} }})()"
        );
        let mut event = self.value(&rectangle);
        event["type"] = "mouseMoved".into();
        self.call("Input.dispatchMouseEvent", &event);
        event
    }

    /// Clicks in the middle of an element, as a user does.
    fn click(&mut self, selector: &str) {
        let mut event = self.point_at(selector);
        event["button"] = "left".into();
        event["clickCount"] = 1.into();
        for kind in ["mousePressed", "mouseReleased"] {
            event["type"] = kind.into();
            self.call("Input.dispatchMouseEvent", &event);
        }
    }

    /// Presses a key that is not a letter.
    fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call(
                "Input.dispatchKeyEvent",
                &json!({"type": kind, "key": key, "code": key}),
            );
        }
    }

    /// Returns the figure: the pixels of the heat map, or the elements of the lines.
    fn picture(&mut self) -> String {
        let script = "(() => { const picture = document.querySelector('#picture'); \
                      return picture.toDataURL ? picture.toDataURL() : picture.outerHTML })()";
        let picture = self.value(script);
        picture.as_str().expect("a picture is text").to_owned()
    }

    fn text(&mut self, selector: &str) -> String {
        let text = self.value(&format!("document.querySelector(`{selector}`).textContent"));
        text.as_str().expect("text is text").to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // A browser whose pipe is closed ends; one that does not is ended.
        drop(self.input.take());
        let started = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if started.elapsed() > PATIENCE {
                let _ = self.child.kill();
                let _ = self.child.wait();
            }
            thread::sleep(Duration::from_millis(5)); // nothing tells of its end
        }
    }
}

fn program() -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    let programs =
        env::split_paths(&folders).flat_map(|folder| NAMES.map(|name| folder.join(name)));
    programs
        .into_iter()
        .find(|program| cfg!(unix) && program.is_file())
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
    browser.open(&write_page(folder.path()));
    let mean = browser.picture();
    assert_eq!(browser.picture(), mean);
    let head = |head: usize| format!("#overview [data-layer=\"1\"][data-head=\"{head}\"]");

    browser.click(&head(2));
    let second = browser.picture();
    assert_ne!(second, mean);
    let title = browser.text("#figure-title");
    assert_eq!(
        title,
        "Attention from output to source, layer 2 of 3, head 2"
    );

    browser.press("ArrowRight");
    assert!(browser.text("#figure-title").ends_with("head 3"));
    assert_ne!(browser.picture(), second);

    browser.click(&head(2));
    assert_eq!(browser.picture(), second);

    browser.click("[data-kind=encoder]");
    assert!(
        browser
            .text("#figure-title")
            .starts_with("Encoder self-attention")
    );
    assert_ne!(browser.picture(), second);

    browser.click("[data-view=lines]");
    assert!(browser.picture().starts_with("<svg"));
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
    browser.open(&path);

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
