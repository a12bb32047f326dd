//! [`PrivateFolder`]: a temporary folder that only this user can open, removed even if its server is killed.

use std::fs;
use std::io;
use std::path::Path;

use tempfile::{Builder, NamedTempFile, TempDir};

const PREFIX: &str = "transformer-infer-files-";

/// Number of random characters after the prefix.
const N_RANDOM: usize = 6;

/// A temporary folder that only this user can open, whatever the umask. It is removed on drop; the folder of a killed
/// server is removed by [`remove_abandoned`](Self::remove_abandoned).
#[derive(Debug)]
pub(super) struct PrivateFolder {
    folder: TempDir,
    /// Held as long as the process runs.
    _lock: system::Lock,
}

impl PrivateFolder {
    pub(super) fn new_in(parent: &Path) -> io::Result<Self> {
        loop {
            let mut builder = Builder::new();
            builder.prefix(PREFIX).rand_bytes(N_RANDOM);
            let folder = system::new_folder(&mut builder, parent)?;
            // A server that starts at this moment may hold or have removed the folder as an abandoned one.
            match system::make_private(folder.path(), 0o700) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                made => made?,
            }
            if let Some(lock) = system::lock(folder.path())? {
                return Ok(Self {
                    folder,
                    _lock: lock,
                });
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Makes a file, which is removed on drop.
    pub(super) fn make_file(&self) -> io::Result<NamedTempFile> {
        let file = NamedTempFile::new_in(self.path())?;
        system::make_private(file.path(), 0o600)?;
        Ok(file)
    }

    /// Removes the folders in `parent` that belong to this user and are not held by a running server.
    pub(super) fn remove_abandoned(parent: &Path) -> io::Result<()> {
        let own = tempfile::tempfile_in(parent)?;
        for entry in fs::read_dir(parent)?.flatten() {
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            if name.starts_with(PREFIX.as_bytes())
                && name.len() == PREFIX.len() + N_RANDOM
                && let Ok(Some(lock)) = system::lock(&entry.path())
                && lock.is_private(&own).unwrap_or(false)
            {
                // Another server may be removing it.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
mod system {
    use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
    use std::io;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
    use std::path::Path;

    use tempfile::{Builder, TempDir};

    /// Makes a temporary folder that other users can never open.
    pub(super) fn new_folder(builder: &mut Builder, parent: &Path) -> io::Result<TempDir> {
        builder
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)
    }

    /// Gives the owner the rights that the umask may have taken.
    pub(super) fn make_private(path: &Path, mode: u32) -> io::Result<()> {
        fs::set_permissions(path, Permissions::from_mode(mode))
    }

    #[derive(Debug)]
    pub(super) struct Lock(File);

    /// Opens and locks a folder without following links; returns `None` if it has vanished or another process holds it.
    pub(super) fn lock(path: &Path) -> io::Result<Option<Lock>> {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .custom_flags(nix::libc::O_DIRECTORY | nix::libc::O_NOFOLLOW);
        let folder = match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        match folder.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Before it was locked, it may have been removed, and another folder may have been given its name.
        let opened = folder.metadata()?;
        let is_same = fs::symlink_metadata(path)
            .is_ok_and(|it| (it.dev(), it.ino()) == (opened.dev(), opened.ino()));
        Ok(is_same.then_some(Lock(folder)))
    }

    impl Lock {
        /// Returns whether the folder has the owner of `own` and the rights that [`new_folder`] and [`make_private`] give.
        pub(super) fn is_private(&self, own: &File) -> io::Result<bool> {
            let folder = self.0.metadata()?;
            Ok(folder.uid() == own.metadata()?.uid() && folder.mode() & 0o7777 == 0o700)
        }
    }
}

/// For systems where the temporary folder belongs to the user and folders cannot be locked.
#[cfg(not(unix))]
mod system {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    use tempfile::{Builder, TempDir};

    pub(super) fn new_folder(builder: &mut Builder, parent: &Path) -> io::Result<TempDir> {
        builder.tempdir_in(parent)
    }

    pub(super) fn make_private(_: &Path, _: u32) -> io::Result<()> {
        Ok(())
    }

    #[derive(Debug)]
    pub(super) struct Lock;

    pub(super) fn lock(_: &Path) -> io::Result<Option<Lock>> {
        Ok(Some(Lock))
    }

    impl Lock {
        pub(super) fn is_private(&self, _: &File) -> io::Result<bool> {
            Ok(false)
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        let metadata = fs::metadata(path).expect("it exists");
        metadata.permissions().mode() & 0o7777
    }

    #[test]
    fn only_the_owner_can_open_folder_and_files() {
        let parent = tempfile::tempdir().expect("the system has temporary directories");
        let folder = PrivateFolder::new_in(parent.path()).expect("the parent is writable");
        let file = folder.make_file().expect("the folder is writable");
        assert_eq!((mode(folder.path()), mode(file.path())), (0o700, 0o600));
    }

    #[test]
    fn a_server_that_starts_beside_another_takes_no_folder_from_it() {
        let parent = tempfile::tempdir().expect("the system has temporary directories");
        let parent = parent.path();
        std::thread::scope(|scope| {
            let make = || {
                for _ in 0..500 {
                    let folder = PrivateFolder::new_in(parent).expect("the parent is writable");
                    folder.make_file().expect("the folder is still there");
                }
            };
            let servers = [scope.spawn(make), scope.spawn(make)];
            while !servers.iter().all(|server| server.is_finished()) {
                PrivateFolder::remove_abandoned(parent).expect("the parent is readable");
            }
        });
    }

    #[test]
    fn the_folder_of_a_killed_server_is_removed_and_that_of_a_running_one_stays() {
        let parent = tempfile::tempdir().expect("the system has temporary directories");
        let parent = parent.path();
        let running = PrivateFolder::new_in(parent).expect("the parent is writable");
        let folder = |name: &str, mode| {
            let folder = parent.join(format!("{PREFIX}{name}"));
            fs::create_dir(&folder).expect("the parent is writable");
            fs::write(folder.join("a"), "a").expect("the folder is writable");
            let rights = fs::Permissions::from_mode(mode);
            fs::set_permissions(&folder, rights).expect("the folder is ours");
            folder
        };
        let killed = folder("killed", 0o700);
        let (open, long) = (folder("opened", 0o755), folder("of-a-user", 0o700));
        let (other, link) = (parent.join("other"), parent.join(format!("{PREFIX}linked")));
        fs::create_dir(&other).expect("the parent is writable");
        symlink(&other, &link).expect("the parent is writable");
        PrivateFolder::remove_abandoned(parent).expect("the parent is readable");
        let exist = [running.path(), &killed, &open, &long, &other, &link].map(Path::exists);
        assert_eq!(exist, [true, false, true, true, true, true]);
    }
}
