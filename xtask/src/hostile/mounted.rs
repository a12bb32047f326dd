//! [`Mounted`]: a small disk of its own, which can be full or read-only. To mount it takes root.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use super::case::Skipped;

/// How often a busy disk is mounted again.
const MOST_REMOUNTS: usize = 200;

/// A tmpfs, unmounted when it is dropped.
pub(super) struct Mounted(PathBuf);

impl Mounted {
    pub(super) fn new(path: PathBuf, kib: usize) -> Result<Self> {
        fs::create_dir(&path)?;
        let size = format!("size={kib}k,mode=755");
        let mut mount = Command::new("mount");
        let mount = mount
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(&path)
            .output();
        if !mount.is_ok_and(|output| output.status.success()) {
            return Err(Skipped(
                "full and read-only disks: to mount a tmpfs takes root".to_owned(),
            )
            .into());
        }
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn remount(&self, option: &str) -> Result<()> {
        let mut remount = Command::new("mount");
        remount
            .args(["-o", &format!("remount,{option}")])
            .arg(&self.0);
        for _ in 0..MOST_REMOUNTS {
            let output = remount.output()?;
            // A process that another worker starts at this moment has its files open until it runs its program.
            if output.status.success() || !String::from_utf8_lossy(&output.stderr).contains("busy")
            {
                ensure!(
                    output.status.success(),
                    "mount ended with {}",
                    output.status
                );
                return Ok(());
            }
            thread::sleep(Duration::from_millis(10));
        }
        bail!("the disk stays busy")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Lazily: a process that another worker starts at this moment may have its files open until it runs its program.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Fills a disk except for some bytes, with a file that can be deleted.
pub(super) fn fill(disk: &Path, free: u64) -> Result<()> {
    let mut file = File::create(disk.join("ballast"))?;
    while file.write_all(&[0; 4096]).is_ok() {}
    let n = file.metadata()?.len();
    Ok(file.set_len(n.saturating_sub(free))?)
}
