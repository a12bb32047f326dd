//! A server in this process, whose model writes all letters large, and calls to it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::OnceLock;
use std::thread::{self, JoinHandle};

use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use transformer_infer::serve::{ServeOptions, Server, ServerSignal};

use crate::copy_model::write_large_letters_model;
use crate::model::test_device;

/// The key of servers with keys.
pub(super) const KEY: &str = "0123456789abcdef";

/// What the texts of the tests are made of.
const CHARACTERS: &str =
    "abcdefghijklmnopqrstuvwxyzäöüßéèëçñ 0123456789.,:;!?'\"()[]{}<>=&%$#@*+-/_|~„“–…—😀✓";

/// A server that runs until it is dropped.
pub(super) struct TestServer {
    pub(super) address: SocketAddr,
    signals: UnboundedSender<ServerSignal>,
    thread: Option<JoinHandle<()>>,
    _models: TempDir,
    /// The folder of the keys and the glossaries, if there is one.
    _stored: Option<TempDir>,
}

/// The reply to a request.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
}

impl Reply {
    /// Returns the body as JSON.
    pub(super) fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("expected JSON: {text}"))
    }

    /// Returns the JSON of a reply with status 200.
    pub(super) fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        self.json()
    }
}

impl TestServer {
    /// Starts a server from English to German.
    pub(super) fn start() -> Self {
        Self::start_with(ServeOptions::default())
    }

    /// Sends a request with a body of JSON.
    pub(super) fn json(&self, method: &str, path: &str, body: &Value) -> Reply {
        let headers = [("Content-Type", "application/json")];
        self.send(method, path, &headers, body.to_string().as_bytes())
    }

    /// Starts a server from English to German that requires [`KEY`], and stores glossaries.
    pub(super) fn with_key() -> Self {
        let folder = tempfile::tempdir().expect("the system has temporary directories");
        let path = folder.path().join("keys");
        fs::write(&path, format!("{KEY} name=test\n")).expect("the folder is writable");
        let mut server = Self::start_with(ServeOptions {
            api_keys: Some(path),
            glossaries: Some(folder.path().join("glossaries")),
            ..ServeOptions::default()
        });
        server._stored = Some(folder);
        server
    }

    /// Starts a server from English to German.
    pub(super) fn start_with(options: ServeOptions) -> Self {
        Self::of_pairs(&[("en", "de")], options)
    }

    /// Starts a server with a model for each pair of languages.
    pub(super) fn of_pairs(pairs: &[(&str, &str)], options: ServeOptions) -> Self {
        let folder = tempfile::tempdir().expect("the system has temporary directories");
        let models = pairs.iter().map(|(source, target)| {
            let path = folder.path().join(format!("{source}-{target}"));
            write_model(&path, source, target);
            path
        });
        let options = ServeOptions {
            models: models.collect(),
            port: 0,
            ..options
        };
        let (signals, received) = unbounded_channel();
        let (send_address, address) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .expect("the system starts threads");
            runtime.block_on(async {
                let server = Server::bind(options, test_device()).await;
                let server = server.expect("the options are right");
                let address = server.local_addr().expect("the server listens");
                send_address.send(address).expect("the test waits for it");
                server.run(received).await.expect("the models are right");
            });
        });
        let server = Self {
            address: address.recv().expect("the server starts"),
            signals,
            thread: Some(thread),
            _models: folder,
            _stored: None,
        };
        while server.get("/health").status != 200 {
            thread::yield_now();
        }
        server
    }

    /// Calls a path with `GET`.
    pub(super) fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], b"")
    }

    /// Sends JSON with `POST`.
    pub(super) fn post(&self, path: &str, body: &Value) -> Reply {
        self.json("POST", path, body)
    }

    /// Sends a form with `POST`.
    pub(super) fn post_form(&self, path: &str, body: &str) -> Reply {
        let headers = [("Content-Type", "application/x-www-form-urlencoded")];
        self.send("POST", path, &headers, body.as_bytes())
    }

    /// Sends fields and a file with `POST`; the name of the file may be empty.
    pub(super) fn post_file(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        (name, content): (&str, &[u8]),
    ) -> Reply {
        let mut body = Vec::new();
        let disposition = "--border\r\nContent-Disposition: form-data; name";
        for (name, value) in fields {
            let field = format!("{disposition}=\"{name}\"\r\n\r\n{value}\r\n");
            body.extend_from_slice(field.as_bytes());
        }
        let name = match name {
            "" => String::new(),
            name => format!("; filename=\"{name}\""),
        };
        let head = format!("{disposition}=\"file\"{name}\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n--border--\r\n");
        let headers = [("Content-Type", "multipart/form-data; boundary=border")];
        self.send("POST", path, &headers, &body)
    }

    /// Sends a request, and returns the reply.
    pub(super) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Reply {
        let mut stream = TcpStream::connect(self.address).expect("the server listens");
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n",
            self.address
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        stream.write_all(head.as_bytes()).expect("the server reads");
        stream.write_all(body).expect("the server reads");
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).expect("the server replies");
        parse(&reply)
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.signals.send(ServerSignal::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns a server that tests share, which must not change it.
pub(super) fn shared_server() -> &'static TestServer {
    static SERVER: OnceLock<TestServer> = OnceLock::new();
    SERVER.get_or_init(TestServer::start)
}

fn parse(reply: &[u8]) -> Reply {
    let text = String::from_utf8_lossy(reply);
    let split = reply.windows(4).position(|window| window == b"\r\n\r\n");
    let split = split.unwrap_or_else(|| panic!("expected a reply of HTTP: {text}"));
    let head = String::from_utf8_lossy(&reply[..split]).into_owned();
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let headers = lines.filter_map(|line| line.split_once(": "));
    Reply {
        status: status.unwrap_or_else(|| panic!("expected a status: {head}")),
        headers: headers
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect(),
        body: reply[split + 4..].to_vec(),
    }
}

/// Writes a model that writes all letters large, with its languages.
pub(super) fn write_model(path: &Path, source: &str, target: &str) {
    write_large_letters_model(path, CHARACTERS);
    let manifest = path.join("manifest.json");
    let text = fs::read_to_string(&manifest).expect("it was just written");
    let mut value: Value = serde_json::from_str(&text).expect("it is JSON");
    value["training"]["src_lang"] = source.into();
    value["training"]["tgt_lang"] = target.into();
    fs::write(manifest, value.to_string()).expect("the folder is writable");
}
