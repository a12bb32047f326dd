//! PyTorch's files are zip archives whose entries have checksums. Damage reaches the reader of the pickle behind them
//! only in an archive that was written anew.

use anyhow::{Context, Result, ensure};
use flate2::Crc;

const LOCAL: &[u8; 4] = b"PK\x03\x04";
const CENTRAL: &[u8; 4] = b"PK\x01\x02";
const END: &[u8; 4] = b"PK\x05\x06";

/// An entry that is not compressed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    pub(super) content: Vec<u8>,
}

fn number(bytes: &[u8], at: usize, n: usize) -> Result<usize> {
    let field = bytes.get(at..at + n).context("the archive is cut")?;
    let digits = field.iter().rev();
    Ok(digits.fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
}

/// Reads the entries of an archive.
pub(super) fn entries(archive: &[u8]) -> Result<Vec<Entry>> {
    let end = archive.windows(4).rposition(|bytes| bytes == END);
    let end = end.context("it is no archive")?;
    let mut at = number(archive, end + 16, 4)?;
    let mut entries = Vec::new();
    for _ in 0..number(archive, end + 10, 2)? {
        ensure!(number(archive, at + 10, 2)? == 0, "an entry is compressed");
        let size = number(archive, at + 20, 4)?;
        let n_name = number(archive, at + 28, 2)?;
        let name = archive
            .get(at + 46..at + 46 + n_name)
            .context("the archive is cut")?;
        let local = number(archive, at + 42, 4)?;
        let start = local + 30 + number(archive, local + 26, 2)? + number(archive, local + 28, 2)?;
        let content = archive
            .get(start..start + size)
            .context("the archive is cut")?;
        entries.push(Entry {
            name: name.to_vec(),
            content: content.to_vec(),
        });
        at += 46 + n_name + number(archive, at + 30, 2)? + number(archive, at + 32, 2)?;
    }
    Ok(entries)
}

/// Writes an archive of entries.
pub(super) fn archive(entries: &[Entry]) -> Result<Vec<u8>> {
    let mut archive = Vec::new();
    let mut central = Vec::new();
    for Entry { name, content } in entries {
        let mut crc = Crc::new();
        crc.update(content);
        let size = u32::try_from(content.len())?.to_le_bytes();
        // Version, flags, method, time and date; checksum, both sizes, length of the name, no further field.
        let mut head = vec![20, 0, 0, 0, 0, 0, 0, 0, 33, 0];
        head.extend(crc.sum().to_le_bytes());
        head.extend(size);
        head.extend(size);
        head.extend(u16::try_from(name.len())?.to_le_bytes());
        head.extend([0, 0]);
        central.extend(CENTRAL);
        central.extend([20, 0]);
        central.extend(&head);
        central.extend([0; 10]); // comment, disk, attributes
        central.extend(u32::try_from(archive.len())?.to_le_bytes());
        central.extend(name);
        archive.extend(LOCAL);
        archive.extend(&head);
        archive.extend(name);
        archive.extend(content);
    }
    let n = u16::try_from(entries.len())?.to_le_bytes();
    let start = u32::try_from(archive.len())?.to_le_bytes();
    let size = u32::try_from(central.len())?.to_le_bytes();
    archive.extend(central);
    archive.extend(END);
    archive.extend([0; 4]);
    for field in [&n[..], &n, &size, &start, &[0, 0]] {
        archive.extend(field);
    }
    Ok(archive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_the_entries_that_were_written() -> Result<()> {
        let entry = |name: &str, content: &str| Entry {
            name: name.into(),
            content: content.into(),
        };
        let written = [entry("a/data.pkl", "pickle"), entry("b", "")];
        assert_eq!(entries(&archive(&written)?)?, written);
        Ok(())
    }
}
