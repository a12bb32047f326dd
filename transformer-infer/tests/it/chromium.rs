//! Chromium, controlled as a user controls it.
//!
//! It speaks its DevTools protocol over a pipe: JSON messages, each ended by a NUL. It is searched for on the `PATH`;
//! without it the tests print a note and pass.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// How long a test asks a page whether something is so before the test fails: far longer than on any busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// A browser with one page, which exits on drop.
pub(crate) struct Browser {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    session: Option<Value>,
    n_calls: u64,
    /// What the browser reported.
    events: Vec<Value>,
    /// The folder of the browser's profile.
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts the browser, if it is installed.
    #[expect(
        clippy::print_stderr,
        reason = "who reads the results must know what did not run"
    )]
    pub(crate) fn start() -> Option<Self> {
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
                "--disable-quic",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
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
            events: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", &attach);
        browser.session = Some(session["sessionId"].clone());
        Some(browser)
    }

    /// Calls a method of the protocol, and waits for its result.
    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
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
            // What has no number of ours is an event of a domain that the test enabled.
            if answer["method"].is_string() {
                self.events.push(answer);
                continue;
            }
            if answer["id"] == self.n_calls {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// Opens an address.
    pub(crate) fn open(&mut self, address: &str) {
        let result = self.call("Page.navigate", &json!({"url": address}));
        assert!(result["errorText"].is_null(), "{address}: {result}");
    }

    /// Waits until a JavaScript expression is true.
    pub(crate) fn wait_until(&mut self, expression: &str) {
        let started = Instant::now();
        while self.value(expression) != true {
            let page = "document.body?.innerText";
            if started.elapsed() > PATIENCE {
                panic!("never true: {expression}; the page: {}", self.value(page));
            }
        }
    }

    /// Evaluates a JavaScript expression, and waits for its result if that is a promise.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let arguments =
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", &arguments);
        assert!(
            result["exceptionDetails"].is_null(),
            "{expression}: {result}"
        );
        result["result"]["value"].clone()
    }

    /// Moves the mouse to the middle of an element.
    pub(crate) fn point_at(&mut self, selector: &str) -> Value {
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
    pub(crate) fn click(&mut self, selector: &str) {
        let mut event = self.point_at(selector);
        event["button"] = "left".into();
        event["clickCount"] = 1.into();
        for kind in ["mousePressed", "mouseReleased"] {
            event["type"] = kind.into();
            self.call("Input.dispatchMouseEvent", &event);
        }
    }

    /// Presses a key that is not a letter, for example `Enter` or `Shift+Tab`.
    pub(crate) fn press(&mut self, keys: &str) {
        let (modifier, key) = keys.rsplit_once('+').unwrap_or(("", keys));
        let modifiers = u8::from(modifier == "Shift") * 8 + u8::from(modifier == "Control") * 2;
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            "ArrowLeft" => (37, ""),
            "ArrowUp" => (38, ""),
            "ArrowRight" => (39, ""),
            "ArrowDown" => (40, ""),
            _ => panic!("the test needs the code of {key}"),
        };
        for kind in ["keyDown", "keyUp"] {
            self.call(
                "Input.dispatchKeyEvent",
                &json!({
                    "type": kind, "key": key, "code": key, "modifiers": modifiers,
                    "windowsVirtualKeyCode": code, "text": text,
                }),
            );
        }
    }

    /// Types text where the focus is.
    pub(crate) fn insert(&mut self, text: &str) {
        self.call("Input.insertText", &json!({"text": text}));
    }

    /// Returns the events of a method so far.
    pub(crate) fn events(&self, method: &str) -> Vec<&Value> {
        let events = self.events.iter();
        let events = events.filter(|event| event["method"] == method);
        events.map(|event| &event["params"]).collect()
    }

    pub(crate) fn text(&mut self, selector: &str) -> String {
        let text = self.value(&format!("document.querySelector(`{selector}`).textContent"));
        text.as_str().expect("text is text").to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // A browser ends when its pipe is closed.
        drop(self.input.take());
        let _ = self.child.wait();
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
