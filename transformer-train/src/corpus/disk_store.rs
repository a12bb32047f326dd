//! The token store on disk: for corpora that are larger than memory.
//!
//! `ids.bin` has a record for each pair: its source ids, its target ids, two or four bytes each, and four bytes
//! that check them. `lengths.bin` has the two lengths of each pair, four bytes each. All numbers are
//! little-endian. Lengths are held in memory, eight bytes a pair, and an offset for every 256 pairs; ids are read
//! when they are asked for.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::corpus::fingerprint::Fingerprint;
use crate::corpus::{CorpusError, SentencePair};

pub(crate) const IDS: &str = "ids.bin";
pub(crate) const LENGTHS: &str = "lengths.bin";

/// Number of pairs between two known offsets.
const STRIDE: usize = 256;

/// Bytes of the number that checks a record.
const CHECK: usize = 4;

/// Lengths of pairs, source first.
type Lengths = Vec<(u32, u32)>;

/// Writes the pairs of a store, one after the other.
pub(crate) struct StoreWriter {
    directory: PathBuf,
    ids: BufWriter<File>,
    lengths: Lengths,
    width: usize,
    record: Vec<u8>,
}

impl StoreWriter {
    /// Begins a store in a folder that is there; ids are below `vocab_size`.
    pub(crate) fn new(directory: &Path, vocab_size: usize) -> io::Result<Self> {
        let ids = File::create(directory.join(IDS))?;
        Ok(Self {
            directory: directory.to_owned(),
            ids: BufWriter::with_capacity(1 << 20, ids),
            lengths: Vec::new(),
            width: width_of(vocab_size),
            record: Vec::new(),
        })
    }

    /// Appends a pair.
    pub(crate) fn push(&mut self, src: &[u32], tgt: &[u32]) -> io::Result<()> {
        self.record.clear();
        for id in src.iter().chain(tgt) {
            self.record.extend(&id.to_le_bytes()[..self.width]);
        }
        self.record.extend(check(src, tgt).to_le_bytes());
        self.lengths.push((src.len() as u32, tgt.len() as u32));
        self.ids.write_all(&self.record)
    }

    /// Writes down what is left, to the disk itself.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.ids.flush()?;
        self.ids.get_ref().sync_all()?;
        let mut file = BufWriter::new(File::create(self.directory.join(LENGTHS))?);
        for (src, tgt) in &self.lengths {
            file.write_all(&src.to_le_bytes())?;
            file.write_all(&tgt.to_le_bytes())?;
        }
        file.flush()?;
        file.get_ref().sync_all()
    }
}

/// Reads the pairs of a store.
#[derive(Debug)]
pub(crate) struct DiskStore {
    path: PathBuf,
    file: Mutex<File>,
    width: usize,
    lengths: Arc<[(u32, u32)]>,
    /// Where the record of every [`STRIDE`]th pair begins, and where the last one ends.
    offsets: Vec<u64>,
}

impl DiskStore {
    /// Opens a store, whose files must be as long as its lengths say; ids are below `vocab_size`.
    pub(crate) fn open(directory: &Path, vocab_size: usize) -> io::Result<Self> {
        let path = directory.join(IDS);
        let width = width_of(vocab_size);
        let lengths = read_lengths(&directory.join(LENGTHS))?;
        let mut offsets = Vec::with_capacity(lengths.len() / STRIDE + 2);
        let mut end = 0;
        for (pair, &lengths) in lengths.iter().enumerate() {
            if pair % STRIDE == 0 {
                offsets.push(end);
            }
            end += record_len(lengths, width);
        }
        offsets.push(end);
        let file = File::open(&path)?;
        let is = file.metadata()?.len();
        if is != end {
            let message = format!("has {is} bytes instead of {end}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(Self {
            path,
            file: Mutex::new(file),
            width,
            lengths: lengths.into(),
            offsets,
        })
    }

    /// Returns the lengths of every pair, source and target, in tokens.
    pub(crate) fn lengths(&self) -> Arc<[(u32, u32)]> {
        Arc::clone(&self.lengths)
    }

    /// Returns how much memory it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.lengths) + size_of_val(self.offsets.as_slice())
    }

    /// Reads a pair.
    ///
    /// # Errors
    ///
    /// Returns [`CorpusError::Store`] when it cannot be read, or is not what was written.
    ///
    /// # Panics
    ///
    /// Panics when there is no such pair.
    pub(crate) fn pair(&self, number: usize) -> Result<SentencePair, CorpusError> {
        let error = |source| CorpusError::Store {
            path: self.path.clone(),
            source,
        };
        let start = number / STRIDE * STRIDE;
        let before = self.lengths[start..number].iter();
        let offset = self.offsets[number / STRIDE]
            + before
                .map(|&lengths| record_len(lengths, self.width))
                .sum::<u64>();
        let (n_src, n_tgt) = self.lengths[number];
        let mut record = vec![0; record_len((n_src, n_tgt), self.width) as usize];
        {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            let read = file
                .seek(SeekFrom::Start(offset))
                .and_then(|_| file.read_exact(&mut record));
            read.map_err(error)?;
        }
        let (ids, written) = record.split_at(record.len() - CHECK);
        let mut ids = ids.chunks_exact(self.width).map(|bytes| {
            let mut whole = [0; 4];
            whole[..bytes.len()].copy_from_slice(bytes);
            u32::from_le_bytes(whole)
        });
        let src: Vec<u32> = ids.by_ref().take(n_src as usize).collect();
        let tgt: Vec<u32> = ids.collect();
        if check(&src, &tgt).to_le_bytes() != written {
            let message = format!("pair {number} is not what was written");
            return Err(error(io::Error::new(io::ErrorKind::InvalidData, message)));
        }
        Ok(SentencePair { src, tgt })
    }
}

fn read_lengths(path: &Path) -> io::Result<Lengths> {
    let mut bytes = Vec::new();
    File::open(path)?.read_to_end(&mut bytes)?;
    let number = |bytes: &[u8]| {
        let mut whole = [0; 4];
        whole.copy_from_slice(bytes);
        u32::from_le_bytes(whole)
    };
    let pairs = bytes.chunks_exact(8);
    Ok(pairs
        .map(|pair| (number(&pair[..4]), number(&pair[4..])))
        .collect())
}

/// Returns the bytes of an id.
fn width_of(vocab_size: usize) -> usize {
    if vocab_size <= 1 << 16 { 2 } else { 4 }
}

fn record_len((src, tgt): (u32, u32), width: usize) -> u64 {
    (u64::from(src) + u64::from(tgt)) * width as u64 + CHECK as u64
}

fn check(src: &[u32], tgt: &[u32]) -> u32 {
    let mut fingerprint = Fingerprint::default();
    fingerprint.push(src, tgt);
    fingerprint.value() as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::*;

    fn written(pairs: &[(Vec<u32>, Vec<u32>)], vocab_size: usize) -> TempDir {
        let dir = tempfile::tempdir().expect("the system has temporary directories");
        let mut writer = StoreWriter::new(dir.path(), vocab_size).expect("the folder is writable");
        for (src, tgt) in pairs {
            writer.push(src, tgt).expect("the folder is writable");
        }
        writer.finish().expect("the folder is writable");
        dir
    }

    fn check_all(pairs: &[(Vec<u32>, Vec<u32>)], vocab_size: usize) {
        let dir = written(pairs, vocab_size);
        let store = DiskStore::open(dir.path(), vocab_size).expect("it was just written");
        assert_eq!(store.lengths().len(), pairs.len());
        for number in (0..pairs.len()).rev() {
            let (src, tgt) = pairs[number].clone();
            let read = store.pair(number).expect("it was just written");
            assert_eq!(read, SentencePair { src, tgt });
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn what_was_pushed_comes_back_from_the_disk(
            pairs in proptest::collection::vec(
                (proptest::collection::vec(0_u32..65_536, 0..5), proptest::collection::vec(0_u32..65_536, 0..5)),
                1..700,
            ),
        ) {
            check_all(&pairs, 65_536);
        }
    }

    #[test]
    fn large_vocabularies_have_larger_ids() {
        check_all(&[(vec![65_536, 1], vec![70_000])], 70_001);
    }

    #[test]
    fn a_store_that_was_cut_off_is_not_opened() {
        let dir = written(&[(vec![5, 6], vec![7])], 10);
        let path = dir.path().join(IDS);
        let bytes = std::fs::read(&path).expect("it was just written");
        std::fs::write(&path, &bytes[..9]).expect("the folder is writable");
        let error = DiskStore::open(dir.path(), 10).expect_err("a byte is missing");
        assert_eq!(error.to_string(), "has 9 bytes instead of 10");
    }

    #[test]
    fn a_changed_id_is_found_when_it_is_read() {
        let dir = written(&[(vec![5, 6], vec![7]), (vec![8], vec![9])], 10);
        let path = dir.path().join(IDS);
        let mut bytes = std::fs::read(&path).expect("it was just written");
        bytes[2] ^= 1;
        std::fs::write(&path, bytes).expect("the folder is writable");
        let store = DiskStore::open(dir.path(), 10).expect("its size is right");
        let error = store.pair(0).expect_err("an id is another").to_string();
        assert!(error.contains("pair 0 is not what was written"), "{error}");
        assert!(store.pair(1).is_ok());
    }
}
