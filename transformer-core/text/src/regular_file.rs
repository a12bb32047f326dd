//! Reads only regular files, of limited size: the files of models, runs and checkpoints, and settings.
//!
//! Opening a pipe waits for a program that writes to it, possibly forever, and a device such as `/dev/zero` has no end.
//! Text is read by [`LineReader`](crate::lines::LineReader) instead, also from pipes.

use std::fs::{self, File, FileType};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Limit of the size of a file of settings, in bytes.
pub const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// Maximum size of a JSON file that describes a model or a checkpoint, in bytes.
pub const MAX_JSON_BYTES: u64 = 1 << 24;

/// Limit of the size of a tokenizer or a vocabulary, in bytes; large ones have tens of megabytes.
pub const MAX_TOKENIZER_BYTES: u64 = 1 << 27;

/// Opens a regular file, or a link to one.
pub fn open(path: &Path) -> io::Result<File> {
    // Checked before opening, which would wait for the other end of a pipe.
    check(fs::metadata(path)?.file_type())?;
    let file = File::open(path)?;
    check(file.metadata()?.file_type())?;
    Ok(file)
}

/// Reads a regular file of at most `max_bytes` bytes; for weights, which have no limit, pass [`u64::MAX`].
pub fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let n_bytes = file.metadata()?.len();
    if n_bytes > max_bytes {
        return Err(too_large(max_bytes));
    }
    // The file may have grown, and files of some file systems have the size 0.
    read_to_end(file, max_bytes, reserve(n_bytes)?)
}

/// Returns an empty buffer with room for `n_bytes`. The size of a damaged file may exceed the memory.
///
/// The error is of the kind [`ErrorKind::OutOfMemory`]; without it the process would abort.
pub fn reserve(n_bytes: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let reserved = usize::try_from(n_bytes).map(|n_bytes| content.try_reserve_exact(n_bytes));
    match reserved {
        Ok(Ok(())) => Ok(content),
        Ok(Err(_)) | Err(_) => {
            let message = format!(
                "it has {n_bytes} bytes, more than there is memory for; check that it is not damaged"
            );
            Err(io::Error::new(ErrorKind::OutOfMemory, message))
        }
    }
}

/// Reads UTF-8 text of at most `max_bytes` bytes from a file of any type: a pipe, or even a device.
pub fn read_stream_text(path: &Path, max_bytes: u64) -> io::Result<String> {
    utf8(read_to_end(File::open(path)?, max_bytes, Vec::new())?)
}

fn read_to_end(file: File, max_bytes: u64, mut content: Vec<u8>) -> io::Result<Vec<u8>> {
    file.take(max_bytes.saturating_add(1))
        .read_to_end(&mut content)?;
    match content.len() as u64 > max_bytes {
        true => Err(too_large(max_bytes)),
        false => Ok(content),
    }
}

fn utf8(content: Vec<u8>) -> io::Result<String> {
    String::from_utf8(content).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// Like [`read`], for a file of UTF-8 text.
pub fn read_text(path: &Path, max_bytes: u64) -> io::Result<String> {
    utf8(read(path, max_bytes)?)
}

/// Returns the error of a file that has more than `max_bytes` bytes.
pub fn too_large(max_bytes: u64) -> io::Error {
    let message = format!(
        "it has more than {max_bytes} bytes, the limit for such a file; check that it is the right file"
    );
    io::Error::new(ErrorKind::FileTooLarge, message)
}

fn check(file_type: FileType) -> io::Result<()> {
    if file_type.is_file() {
        return Ok(());
    }
    let kind = match file_type.is_dir() {
        true => ErrorKind::IsADirectory,
        false => ErrorKind::InvalidInput,
    };
    let message = format!(
        "it is {}, and only a regular file can be read here; give the path of one",
        name_of(file_type)
    );
    Err(io::Error::new(kind, message))
}

fn name_of(file_type: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;

        if file_type.is_fifo() {
            return "a pipe";
        }
        if file_type.is_socket() {
            return "a socket";
        }
        if file_type.is_char_device() || file_type.is_block_device() {
            return "a device";
        }
    }
    match file_type.is_dir() {
        true => "a directory",
        false => "not a file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a");
        fs::write(&path, "abc")?;
        assert_eq!(read(&path, 3)?, b"abc");
        assert_eq!(read_text(&path, u64::MAX)?, "abc");
        let error = read(&path, 2).expect_err("it has three bytes");
        assert_eq!(
            error.to_string(),
            "it has more than 2 bytes, the limit for such a file; check that it is the right file"
        );
        Ok(())
    }

    #[test]
    fn a_missing_file_is_not_found() {
        let error = open(Path::new("no/such/file")).expect_err("it is missing");
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_directory_is_refused_as_one() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let error = open(folder.path()).expect_err("it is a directory");
        assert_eq!(error.kind(), ErrorKind::IsADirectory);
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_refused_at_once_and_a_device_too() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status()?;
        assert!(made.success());
        // Without the check, opening the pipe would never return.
        let error = open(&pipe).expect_err("it is a pipe");
        assert_eq!(
            error.to_string(),
            "it is a pipe, and only a regular file can be read here; give the path of one"
        );
        let error = read(Path::new("/dev/zero"), 9).expect_err("it is a device");
        assert!(error.to_string().starts_with("it is a device"), "{error}");
        let error = read_stream_text(Path::new("/dev/zero"), 9).expect_err("it has no end");
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        Ok(())
    }

    /// The size in the metadata of such files is 0.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_limit_holds_whatever_the_metadata_say() {
        let path = Path::new("/proc/self/maps");
        assert_eq!(fs::metadata(path).map(|it| it.len()).ok(), Some(0));
        let error = read(path, 9).expect_err("it is longer");
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_size_above_the_memory_is_an_error_with_the_size() {
        for n_bytes in [u64::MAX, 1 << 62] {
            let error = reserve(n_bytes).expect_err("no machine has as much");
            assert_eq!(error.kind(), ErrorKind::OutOfMemory);
            assert!(
                error
                    .to_string()
                    .starts_with(&format!("it has {n_bytes} bytes"))
            );
        }
        assert!(reserve(7).is_ok_and(|content| content.capacity() >= 7));
    }
}
