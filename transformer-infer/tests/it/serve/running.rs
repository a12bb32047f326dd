//! A server that runs while a test does, with models that copy.

use std::convert::Infallible;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tower::ServiceExt;
use transformer_infer::serve::{ServeError, ServeOptions, Server, ServerSignal};

use super::client::{Reply, call, post};
use crate::copy_model::write_copy_model;
use crate::model::test_device;

/// The characters that the models know.
pub(super) const CHARACTERS: &str =
    "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ.,!?'äöüé{}<>&;:/\"=-0123456789";

/// How long a test asks whether something is so before the test fails: far longer than on any busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// A folder for models, which is removed at the end.
pub(super) struct Models {
    folder: TempDir,
}

impl Models {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("the system has temporary directories");
        Self { folder }
    }

    /// Returns the path of a file or folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a model that copies, `from` a language `to` another, and returns its folder.
    pub(super) fn write(&self, name: &str, languages: Option<(&str, &str)>) -> PathBuf {
        let path = self.path(name);
        write_copy_model(&path, CHARACTERS);
        if let Some((from, to)) = languages {
            set_training(&path, &json!({ "src_lang": from, "tgt_lang": to }));
        }
        path
    }
}

/// Sets keys of the manifest's `training`.
pub(super) fn set_training(model: &Path, keys: &Value) {
    let path = model.join("manifest.json");
    let manifest = fs::read(&path).expect("the manifest was written");
    let mut manifest: Value = serde_json::from_slice(&manifest).expect("it is JSON");
    for (key, value) in keys.as_object().expect("the keys are an object") {
        manifest["training"][key] = value.clone();
    }
    fs::write(&path, manifest.to_string()).expect("the temporary directory is writable");
}

/// A server in a thread, which stops when it is dropped.
pub(super) struct Running {
    pub(super) address: SocketAddr,
    router: Router,
    signals: UnboundedSender<ServerSignal>,
    ended: Receiver<Result<(), ServeError>>,
    thread: Option<JoinHandle<()>>,
}

/// Returns options for models on a free port.
pub(super) fn options(models: &[PathBuf]) -> ServeOptions {
    ServeOptions {
        models: models.to_vec(),
        port: 0,
        ..ServeOptions::default()
    }
}

/// Starts a server with a model from English to German.
pub(super) fn start() -> (Models, Running) {
    let models = Models::new();
    let path = models.write("copy", Some(("en", "de")));
    (models, Running::ready(options(&[path])))
}

impl Running {
    /// Starts a server.
    pub(super) fn start(options: ServeOptions) -> Self {
        let (signals, receiver) = unbounded_channel();
        let (end, ended) = channel();
        let (begin, begun) = channel();
        let thread = thread::spawn(move || {
            let runtime = Runtime::new().expect("a runtime starts");
            let result = runtime.block_on(async {
                let server = Server::bind(options, test_device()).await?;
                let address = server.local_addr().expect("it listens");
                let _ = begin.send((address, server.router()));
                server.run(receiver).await
            });
            runtime.shutdown_background();
            let _ = end.send(result);
        });
        let (address, router) = begun.recv().expect("the server listens");
        Self {
            address,
            router,
            signals,
            ended,
            thread: Some(thread),
        }
    }

    /// Starts a server, and waits until it has loaded its models.
    pub(super) fn ready(options: ServeOptions) -> Self {
        let server = Self::start(options);
        server.wait("the models are loaded", |server| {
            server.look("/health").0 == 200
        });
        server
    }

    /// Returns the routes, for calls without a connection.
    pub(super) fn router(&self) -> Router {
        self.router.clone()
    }

    /// Returns the status and the body of a reply, without a connection.
    pub(super) fn look(&self, path: &str) -> (u16, String) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.expect("a runtime starts");
        runtime.block_on(async {
            let request = Request::get(path).body(Body::empty());
            let request = request.expect("the path is valid");
            let answered: Result<Response, Infallible> = self.router().oneshot(request).await;
            let response = answered.expect("errors are replies");
            let status = response.status().as_u16();
            let body = axum::body::to_bytes(response.into_body(), usize::MAX).await;
            let body = body.expect("the reply is complete");
            (status, String::from_utf8_lossy(&body).into_owned())
        })
    }

    pub(super) fn get(&self, path: &str) -> Reply {
        call(self.address, "GET", path, &[], "")
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Reply {
        post(self.address, path, &[], body)
    }

    /// Sends a signal.
    pub(super) fn signal(&self, signal: ServerSignal) {
        // After the end nobody listens.
        let _ = self.signals.send(signal);
    }

    /// Asks until something is so.
    pub(super) fn wait(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(Instant::now() < end, "timeout: {what}");
            thread::yield_now();
        }
    }

    /// Returns the value of a metric, with its labels as they are written; 0 if it is absent.
    pub(super) fn metric(&self, name: &str) -> f64 {
        let (_, text) = self.look("/metrics");
        let lines = text.lines();
        let value_of = |line: &str| -> Option<String> {
            let value = line.strip_prefix("transformer_")?.strip_prefix(name)?;
            Some(value.strip_prefix(' ')?.to_owned())
        };
        let mut values = lines.filter_map(value_of);
        let value = values.next().map(|value| value.parse());
        value.map_or(0.0, |value| value.expect("a metric is a number"))
    }

    /// Waits until the server has ended.
    pub(super) fn end(mut self) -> Result<(), ServeError> {
        let result = self.ended.recv();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server does not panic");
        }
        result.expect("the server ends")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(ServerSignal::Stop);
        self.signal(ServerSignal::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
