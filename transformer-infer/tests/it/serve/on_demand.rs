//! Models that are loaded when a request needs them.

use std::fs;
use std::num::NonZeroUsize;
use std::thread;

use serde_json::{Value, json};
use transformer_infer::serve::{ServeError, ServeOptions, ServerSignal};

use super::client::post;
use super::running::{Models, Running, options, set_training};
use crate::multilingual::imported;

/// Writes a model into the folder of models.
pub(super) fn write(models: &Models, from: &str, to: &str) {
    models.write(&format!("{from}-{to}"), Some((from, to)));
}

/// Returns options for all models of a folder.
pub(super) fn folder(models: &Models, keep: Option<usize>) -> ServeOptions {
    ServeOptions {
        models_dir: Some(models.path("")),
        keep: keep.map(|n| NonZeroUsize::new(n).expect("it is not 0")),
        ..options(&[])
    }
}

/// Returns the name of the model that translates between two languages, or the error.
fn model(server: &Running, source: &str, target: &str) -> String {
    let request = json!({ "text": "a b", "source": source, "target": target });
    let reply = server.post("/v1/translate", &request).json();
    let found = reply["model"].as_str().or(reply["error"].as_str());
    found.expect("there is a model or an error").to_owned()
}

/// Returns whether a model is in memory: only those have a queue.
fn is_loaded(server: &Running, name: &str) -> bool {
    let (_, metrics) = server.look("/metrics");
    metrics.contains(&format!("queued_lines{{model=\"{name}\"}}"))
}

pub(super) fn n_loads(server: &Running) -> f64 {
    server.metric("model_loads_total{result=\"ok\"}")
}

#[test]
fn all_pairs_are_listed_before_any_model_is_loaded() {
    let models = Models::new();
    write(&models, "en", "de");
    write(&models, "fr", "en");
    let pivot = Some("en".parse().expect("it is a code"));
    let server = Running::ready(ServeOptions {
        pivot,
        ..folder(&models, None)
    });
    let languages = server.get("/languages").json();
    assert_eq!(languages[2]["code"], "fr");
    assert_eq!(languages[2]["targets"], json!(["de", "en", "fr"]));
    let listed = server.get("/v1/models").json();
    assert_eq!(listed["models"].as_array().map(Vec::len), Some(2));
    assert_eq!(listed["models"][0]["name"], "en-de");
    assert_eq!(server.get("/v2/languages").json()[0]["language"], "EN");
    assert_eq!(server.metric("loaded_models"), 0.0);

    assert_eq!(model(&server, "en", "de"), "en-de");
    assert_eq!(server.metric("loaded_models"), 1.0);
    assert_eq!(model(&server, "fr", "de"), "fr-en+en-de");
    assert_eq!(
        (server.metric("loaded_models"), n_loads(&server)),
        (2.0, 2.0)
    );
    assert!(server.metric("model_load_seconds_total") > 0.0);
}

#[test]
fn the_least_recently_used_model_is_dropped() {
    let models = Models::new();
    for to in ["de", "fr", "es"] {
        write(&models, "en", to);
    }
    let server = Running::ready(folder(&models, Some(2)));
    for to in ["de", "fr", "de", "es"] {
        assert_eq!(model(&server, "en", to), format!("en-{to}"));
    }
    let loaded = ["en-de", "en-fr", "en-es"].map(|name| is_loaded(&server, name));
    assert_eq!(loaded, [true, false, true]);
    assert!(server.metric("steps_total{model=\"en-fr\"}") > 0.0);
    assert_eq!(
        (server.metric("loaded_models"), n_loads(&server)),
        (2.0, 3.0)
    );
    assert_eq!(model(&server, "en", "fr"), "en-fr");
    assert!(!is_loaded(&server, "en-de"));
}

#[test]
fn concurrent_requests_load_a_model_once() {
    let models = Models::new();
    write(&models, "en", "de");
    let server = Running::ready(folder(&models, None));
    let address = server.address;
    let request = || {
        let body = json!({ "text": "a b", "source": "en", "target": "de" });
        thread::spawn(move || post(address, "/v1/translate", &[], &body).status)
    };
    let requests: Vec<_> = (0..8).map(|_| request()).collect();
    for request in requests {
        assert_eq!(request.join().expect("the client does not panic"), 200);
    }
    assert_eq!(n_loads(&server), 1.0);
}

#[test]
fn requests_for_more_models_than_may_be_kept_wait_for_each_other() {
    let models = Models::new();
    let targets = ["de", "fr", "es", "it", "pt", "nl"];
    for to in targets {
        write(&models, "en", to);
        write(&models, to, "en");
    }
    let pivot = Some("en".parse().expect("it is a code"));
    let server = Running::ready(ServeOptions {
        pivot,
        ..folder(&models, Some(1))
    });
    let address = server.address;
    // Each of the requests needs two models, of which two are kept at a time.
    let requests = targets
        .iter()
        .zip(targets.iter().skip(1))
        .map(|(from, to)| {
            let body = json!({ "text": "a b", "source": from, "target": to });
            thread::spawn(move || {
                post(address, "/v1/translate", &[], &body).json()["model"].clone()
            })
        });
    let requests: Vec<_> = requests.collect();
    for (request, to) in requests.into_iter().zip(&targets[1..]) {
        let name = request.join().expect("the client does not panic");
        let name = name.as_str().expect("it is translated");
        assert!(name.ends_with(&format!("-en+en-{to}")), "{name}");
    }
    assert!(server.metric("loaded_models") <= 2.0);
}

#[test]
fn a_model_that_cannot_be_loaded_refuses_its_requests_until_it_can() {
    let models = Models::new();
    write(&models, "en", "de");
    write(&models, "en", "fr");
    let weights = models.path("en-de").join("weights.bpk");
    let content = fs::read(&weights).expect("the weights were written");
    fs::write(&weights, &content[..content.len() / 2]).expect("the directory is writable");
    let server = Running::ready(folder(&models, None));
    let request = json!({ "text": "a", "source": "en", "target": "de" });
    let reply = server.post("/v1/translate", &request);
    assert_eq!(
        (reply.status, reply.header("retry-after")),
        (503, Some("5"))
    );
    let expected = "the model `en-de` cannot be loaded; see the log of the server, and try again in a few seconds";
    assert_eq!(reply.error(), expected);
    assert_eq!(model(&server, "en", "fr"), "en-fr");
    assert_eq!(server.metric("model_loads_total{result=\"failed\"}"), 1.0);

    fs::write(&weights, content).expect("the directory is writable");
    reload(&server);
    assert_eq!(model(&server, "en", "de"), "en-de");
}

/// Reads the models again.
pub(super) fn reload(server: &Running) {
    let n = server.metric("reloads_total{result=\"ok\"}");
    server.signal(ServerSignal::Reload);
    server.wait("the models are read again", |server| {
        server.metric("reloads_total{result=\"ok\"}") > n
    });
}

#[test]
fn no_model_is_dropped_for_a_broken_one_or_for_a_refused_request() {
    let models = Models::new();
    write(&models, "en", "de");
    write(&models, "en", "fr");
    let server = Running::ready(folder(&models, Some(1)));
    assert_eq!(model(&server, "en", "de"), "en-de");
    let long = "a".repeat(200_000);
    for (request, status) in [
        (json!({ "text": long, "target": "fr" }), 413),
        (json!({ "text": "a", "target": "fr", "n_best": 99 }), 400),
        (
            json!({ "text": "a", "target": "fr", "format": "html", "alignments": true }),
            400,
        ),
    ] {
        assert_eq!(server.post("/v1/translate", &request).status, status);
    }
    let segment = json!({ "id": 1, "srcLang": "en", "tgtLang": "fr" });
    assert_eq!(server.post("/mtuoc/translate", &segment).status, 400);

    let manifest = models.path("en-fr").join("manifest.json");
    let content = fs::read(&manifest).expect("the manifest was written");
    fs::write(&manifest, "{").expect("the directory is writable");
    for _ in 0..2 {
        let request = json!({ "text": "a", "target": "fr" });
        assert_eq!(server.post("/v1/translate", &request).status, 503);
    }
    assert!(is_loaded(&server, "en-de"));
    assert_eq!(n_loads(&server), 1.0);
    fs::write(&manifest, content).expect("the directory is writable");
    reload(&server);
    assert_eq!(model(&server, "en", "fr"), "en-fr");
}

#[test]
fn no_model_is_dropped_for_one_with_changed_weights() {
    let models = Models::new();
    write(&models, "en", "de");
    write(&models, "en", "fr");
    let server = Running::ready(folder(&models, Some(1)));
    assert_eq!(model(&server, "en", "de"), "en-de");
    let weights = models.path("en-fr").join("weights.bpk");
    let mut content = fs::read(&weights).expect("the weights were written");
    *content.last_mut().expect("there are weights") ^= 1;
    fs::write(&weights, content).expect("the directory is writable");
    let request = json!({ "text": "a", "target": "fr" });
    assert_eq!(server.post("/v1/translate", &request).status, 503);
    assert!(is_loaded(&server, "en-de"));
    assert_eq!(n_loads(&server), 1.0);
}

#[test]
fn metrics_of_a_name_end_with_its_model() {
    let models = Models::new();
    write(&models, "en", "de");
    write(&models, "en", "fr");
    let server = Running::ready(folder(&models, Some(1)));
    for to in ["de", "fr"] {
        assert_eq!(model(&server, "en", to), format!("en-{to}"));
    }
    let has = |name: &str| server.metric(&format!("steps_total{{model=\"{name}\"}}")) > 0.0;
    assert!(has("en-de") && has("en-fr"));
    for name in ["en-de", "en-fr"] {
        fs::remove_dir_all(models.path(name)).expect("the directory is writable");
    }
    write(&models, "en", "es");
    reload(&server);
    assert!(!has("en-de") && !has("en-fr"));
}

#[test]
fn a_model_that_is_put_back_is_loaded_again() {
    let models = Models::new();
    write(&models, "en", "de");
    let manifest = models.path("en-de").join("manifest.json");
    let listed = fs::read(&manifest).expect("the manifest was written");
    let server = Running::ready(folder(&models, None));
    let scores = json!({ "scores": { "valid_bleu": 37.5 } });
    set_training(&models.path("en-de"), &scores);
    assert_eq!(model(&server, "en", "de"), "en-de");
    fs::write(&manifest, listed).expect("the directory is writable");
    reload(&server);
    assert!(!is_loaded(&server, "en-de"));
}

#[test]
fn of_two_models_of_a_pair_the_second_is_left_out() {
    let models = Models::new();
    models.write("a", Some(("en", "de")));
    models.write("b", Some(("en", "de")));
    write(&models, "en", "fr");
    let server = Running::ready(folder(&models, None));
    assert_eq!(model(&server, "en", "de"), "a");
    assert_eq!(model(&server, "en", "fr"), "en-fr");
    assert_eq!(
        server.get("/v1/models").json()["models"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
}

#[test]
fn a_reload_finds_new_folders_changed_models_and_removed_ones() {
    let models = Models::new();
    write(&models, "en", "de");
    write(&models, "en", "fr");
    let server = Running::ready(folder(&models, None));
    assert_eq!(model(&server, "en", "de"), "en-de");
    write(&models, "en", "es");
    fs::remove_dir_all(models.path("en-fr")).expect("the directory is writable");
    reload(&server);
    assert_eq!(model(&server, "en", "es"), "en-es");
    let missing = "fr is not supported";
    assert_eq!(model(&server, "en", "fr"), missing);
    assert_eq!(n_loads(&server), 2.0, "a model that has not changed stays");

    let scores = json!({ "scores": { "valid_bleu": 37.5 }, "src_lang": "en", "tgt_lang": "it" });
    set_training(&models.path("en-de"), &scores);
    reload(&server);
    assert!(!is_loaded(&server, "en-de"));
    assert_eq!(model(&server, "en", "it"), "en-de");
    let listed = server.get("/v1/models").json();
    assert_eq!(listed["models"][0]["bleu"], 37.5);
}

#[test]
fn a_kept_model_stays_and_is_listed_once() {
    let models = Models::new();
    write(&models, "en", "de");
    write(&models, "en", "fr");
    write(&models, "en", "es");
    let server = Running::ready(ServeOptions {
        models: vec![models.path("en-de")],
        ..folder(&models, Some(1))
    });
    assert!(is_loaded(&server, "en-de"));
    for to in ["fr", "es", "fr"] {
        assert_eq!(model(&server, "en", to), format!("en-{to}"));
    }
    assert!(is_loaded(&server, "en-de"));
    assert_eq!(
        (server.metric("loaded_models"), n_loads(&server)),
        (2.0, 3.0)
    );
}

#[test]
fn a_multilingual_model_on_demand_serves_all_its_pairs() {
    let models = Models::new();
    let (_folder, path) = imported("m2m100", &[]);
    fs::rename(path, models.path("m2m100")).expect("both are on the same disk");
    let server = Running::ready(folder(&models, None));
    let listed = server.get("/languages").json();
    assert_eq!(listed.as_array().map(Vec::len), Some(100));
    assert_eq!(server.metric("loaded_models"), 0.0);
    let missing = json!({ "text": "a", "source": "de" });
    let missing = server.post("/v1/translate", &missing).error();
    assert!(missing.ends_with("give `target`, such as af"), "{missing}");
    for (from, to) in [("de", "en"), ("fr", "zh")] {
        assert_eq!(model(&server, from, to), "m2m100");
    }
    assert_eq!(n_loads(&server), 1.0);
}

#[test]
fn a_folder_without_models_is_refused() {
    let models = Models::new();
    let error = Running::start(folder(&models, None)).end();
    assert!(matches!(error, Err(ServeError::NoModel)), "{error:?}");
    let missing = ServeOptions {
        models_dir: Some(models.path("none")),
        ..options(&[])
    };
    let error = Running::start(missing).end();
    assert!(
        matches!(error, Err(ServeError::ModelsDir { .. })),
        "{error:?}"
    );
}

#[test]
fn a_broken_folder_is_left_out_at_the_start() {
    let models = Models::new();
    write(&models, "en", "de");
    write(&models, "en", "fr");
    fs::write(models.path("en-fr").join("manifest.json"), "{").expect("it is writable");
    let server = Running::ready(folder(&models, None));
    let listed = server.get("/v1/models").json();
    let names: Vec<&Value> = listed["data"].as_array().into_iter().flatten().collect();
    assert_eq!(names.len(), 1, "{listed}");
}

/// The names of <https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>.
#[test]
fn the_process_has_the_metrics_that_prometheus_expects() {
    let models = Models::new();
    write(&models, "en", "de");
    let server = Running::ready(folder(&models, None));
    let (_, metrics) = server.look("/metrics");
    let version = format!(
        "transformer_build_info{{version=\"{}\"}} 1",
        env!("CARGO_PKG_VERSION")
    );
    assert!(metrics.contains(&version), "{metrics}");
    let names: &[&str] = match cfg!(target_os = "linux") {
        true => &[
            "process_cpu_seconds_total",
            "process_max_fds",
            "process_open_fds",
            "process_resident_memory_bytes",
            "process_start_time_seconds",
        ],
        false => &["process_start_time_seconds"],
    };
    for name in names {
        let line = metrics
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let value: f64 = line.and_then(|it| it.parse().ok()).unwrap_or_default();
        assert!(value > 0.0, "{name}: {metrics}");
    }
}

#[test]
fn the_dashboard_shows_metrics_that_the_server_has() {
    let models = Models::new();
    write(&models, "en", "de");
    let server = Running::ready(folder(&models, None));
    // Metrics with labels are there after the first event.
    assert_eq!(model(&server, "en", "de"), "en-de");
    server.post("/v1/translate", &json!({ "text": "a".repeat(200_000) }));
    reload(&server);
    let (_, metrics) = server.look("/metrics");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/deploy/grafana.json");
    let dashboard = fs::read_to_string(path).expect("it is in the repository");
    let dashboard: Value = serde_json::from_str(&dashboard).expect("it is JSON");
    let panels = dashboard["panels"].as_array().into_iter().flatten();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let mut n_names = 0;
    for target in targets {
        let query = target["expr"].as_str().expect("a target has a query");
        let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for name in words.filter(|word| word.starts_with("transformer_")) {
            n_names += 1;
            let has = |line: &str| {
                line.strip_prefix(name)
                    .is_some_and(|it| it.starts_with(['{', ' ']))
            };
            assert!(metrics.lines().any(has), "{name} is not in {metrics}");
        }
    }
    assert!(n_names >= 10, "{n_names} names of metrics");
}
