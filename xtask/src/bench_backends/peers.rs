//! PyTorch and CTranslate2, which `benchmarks/bench_peers.py` measures in the same way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::contender::{Contender, last_line};
use super::figures::Figures;

const ON_CPU: [&str; 4] = ["pytorch", "pytorch-bf16", "pytorch-compile", "ctranslate2"];

const ON_GPU: [&str; 5] = [
    "pytorch-gpu",
    "pytorch-gpu-tf32",
    "pytorch-gpu-bf16",
    "pytorch-compile-gpu",
    "ctranslate2-gpu",
];

/// A Python that can measure at least PyTorch; `bench_peers.py check` prints the rest.
#[derive(Debug, Deserialize)]
pub(crate) struct Peers {
    #[serde(skip)]
    python: PathBuf,
    /// Those that it cannot measure, and why.
    missing: BTreeMap<String, String>,
}

impl Peers {
    /// Finds out what a Python can measure.
    pub(crate) fn check(root: &Path, python: &Path) -> Result<Self> {
        let python = program(python)?;
        let mut check = Command::new(&python);
        check
            .arg(root.join("benchmarks/bench_peers.py"))
            .arg("check");
        let output = check.stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("`{}` cannot be started", python.display()))?;
        ensure!(
            output.status.success(),
            "`{}` cannot measure the peers: {}; benchmarks/bench_peers.txt lists the packages that it needs",
            python.display(),
            last_line(&String::from_utf8_lossy(&output.stderr)).unwrap_or("no reason given")
        );
        let output = String::from_utf8_lossy(&output.stdout);
        let peers: Self = serde_json::from_str(output.lines().last().unwrap_or_default())
            .context("benchmarks/bench_peers.py does not list the peers that it can measure")?;
        Ok(Self { python, ..peers })
    }

    /// Returns the benchmarks of all peers on the kinds of hardware, where `true` is a GPU.
    pub(super) fn contenders(&self, root: &Path, kinds: &BTreeSet<bool>) -> Vec<Contender> {
        let of = |on_gpu: &bool| if *on_gpu { &ON_GPU[..] } else { &ON_CPU };
        let peers = kinds.iter().flat_map(of);
        peers.map(|peer| self.contender(root, peer)).collect()
    }

    fn contender(&self, root: &Path, peer: &str) -> Contender {
        if let Some(why) = self.missing.get(peer) {
            return Contender::missing(peer, why);
        }
        Contender {
            figures: Figures {
                backend: peer.to_owned(),
                ..Figures::default()
            },
            program: Some(self.python.clone()),
            arguments: vec![root.join("benchmarks/bench_peers.py").into(), peer.into()],
            // Keep freed pages, as our programs do.
            environment: vec![
                ("MALLOC_MMAP_MAX_", "0".into()),
                ("MALLOC_TRIM_THRESHOLD_", "17179869184".into()),
            ],
            ..Contender::default()
        }
    }
}

/// Returns an absolute path; a bare name stays, and the system looks it up.
///
/// Links are not resolved: the Python of a virtual environment is a link, and finds its packages by its location.
fn program(path: &Path) -> Result<PathBuf> {
    if path.components().count() == 1 && path.is_relative() {
        return Ok(path.to_owned());
    }
    std::path::absolute(path).with_context(|| format!("there is no folder of `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peers(missing: &[(&str, &str)]) -> Peers {
        let own = |(peer, why): &(&str, &str)| ((*peer).to_owned(), (*why).to_owned());
        Peers {
            python: "python3".into(),
            missing: missing.iter().map(own).collect(),
        }
    }

    fn names(contenders: &[Contender]) -> Vec<&str> {
        contenders
            .iter()
            .map(|it| it.figures.backend.as_str())
            .collect()
    }

    #[test]
    fn peers_run_on_the_kinds_of_hardware_of_the_backends() {
        let peers = peers(&[]);
        assert_eq!(
            names(&peers.contenders(Path::new("/r"), &[false].into())),
            ON_CPU
        );
        assert_eq!(
            names(&peers.contenders(Path::new("/r"), &[true].into())),
            ON_GPU
        );
        assert!(
            peers
                .contenders(Path::new("/r"), &BTreeSet::new())
                .is_empty()
        );
    }

    #[test]
    fn a_missing_peer_has_a_reason_and_the_others_stay() {
        let peers = peers(&[("ctranslate2", "No module named 'ctranslate2'")]);
        let found = peers.contenders(Path::new("/r"), &[false].into());
        let troubles: Vec<_> = found
            .iter()
            .map(|it| it.figures.trouble.as_deref())
            .collect();
        assert_eq!(
            troubles,
            [None, None, None, Some("No module named 'ctranslate2'")]
        );
    }

    #[test]
    fn a_relative_python_is_the_same_in_every_folder_and_a_bare_name_is_looked_up() {
        let relative = program(Path::new("env/bin/python")).expect("there is a current folder");
        assert!(relative.is_absolute() && relative.ends_with("env/bin/python"));
        let bare = program(Path::new("python3")).expect("it needs no folder");
        assert_eq!(bare, Path::new("python3"));
    }
}
