//! [`PrivateFolder`]: a temporary folder for this user alone, which is removed even if its server is killed.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use tempfile::{Builder, NamedTempFile, TempDir};

/// The beginning of the names of such folders.
const PREFIX: &str = "transformer-infer-files-";

/// A temporary folder for this user alone, whatever the umask. It is removed on drop; that of a killed server, by
/// [`remove_abandoned`](Self::remove_abandoned).
#[derive(Debug)]
pub(super) struct PrivateFolder {
    folder: TempDir,
    /// The open folder, locked as long as the process runs; none where folders cannot be opened.
    _lock: Option<File>,
}

impl PrivateFolder {
    /// Makes a folder in `parent`.
    pub(super) fn new_in(parent: &Path) -> io::Result<Self> {
        loop {
            let mut builder = Builder::new();
            builder.prefix(PREFIX);
            let folder = system::private_folder(&mut builder, parent)?;
            let lock = File::open(folder.path()).ok();
            let is_held = |lock: &File| matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
            // A server that starts at this moment may hold the folder, or have removed it, as an abandoned one.
            if !lock.as_ref().is_some_and(is_held) && folder.path().exists() {
                return Ok(Self {
                    folder,
                    _lock: lock,
                });
            }
        }
    }

    /// Returns the path.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Makes a file, which is removed on drop.
    pub(super) fn make_file(&self) -> io::Result<NamedTempFile> {
        let file = NamedTempFile::new_in(self.path())?;
        system::make_private(file.path(), 0o600)?;
        Ok(file)
    }

    /// Removes the folders in `parent` that belong to this user and that no running server holds.
    pub(super) fn remove_abandoned(parent: &Path) -> io::Result<()> {
        let own = tempfile::tempfile_in(parent)?;
        for entry in fs::read_dir(parent)?.flatten() {
            if entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(PREFIX.as_bytes())
                && let Ok(folder) = system::open_own_folder(&entry.path(), &own)
                && folder.try_lock().is_ok()
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
    use std::fs::{self, File, OpenOptions, Permissions};
    use std::io;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
    use std::path::Path;

    use tempfile::{Builder, TempDir};

    /// Makes a temporary folder that others can never open.
    pub(super) fn private_folder(builder: &mut Builder, parent: &Path) -> io::Result<TempDir> {
        let folder = builder
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)?;
        make_private(folder.path(), 0o700)?;
        Ok(folder)
    }

    /// Gives the owner the rights that the umask may have taken.
    pub(super) fn make_private(path: &Path, mode: u32) -> io::Result<()> {
        fs::set_permissions(path, Permissions::from_mode(mode))
    }

    /// Opens a folder, without following links, if it has the owner of `own`.
    pub(super) fn open_own_folder(path: &Path, own: &File) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW);
        let folder = options.open(path)?;
        match folder.metadata()?.uid() == own.metadata()?.uid() {
            true => Ok(folder),
            false => Err(io::ErrorKind::PermissionDenied.into()),
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

    pub(super) fn private_folder(builder: &mut Builder, parent: &Path) -> io::Result<TempDir> {
        builder.tempdir_in(parent)
    }

    pub(super) fn make_private(_: &Path, _: u32) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn open_own_folder(_: &Path, _: &File) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
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
    fn the_folder_of_a_killed_server_is_removed_and_that_of_a_running_one_stays() {
        let parent = tempfile::tempdir().expect("the system has temporary directories");
        let parent = parent.path();
        let running = PrivateFolder::new_in(parent).expect("the parent is writable");
        let killed = parent.join(format!("{PREFIX}killed"));
        fs::create_dir(&killed).expect("the parent is writable");
        fs::write(killed.join("a"), "a").expect("the folder is writable");
        let (other, link) = (parent.join("other"), parent.join(format!("{PREFIX}link")));
        fs::create_dir(&other).expect("the parent is writable");
        symlink(&other, &link).expect("the parent is writable");
        PrivateFolder::remove_abandoned(parent).expect("the parent is readable");
        let exist = [running.path(), &killed, &other, &link].map(Path::exists);
        assert_eq!(exist, [true, false, true, true]);
    }
}
