//! [`TokenStore`]: the training pairs as token ids, in memory, or on disk for corpora that are larger than memory.
//!
//! Each pair has a record: the source ids and the target ids, two or four bytes each, then a checksum of four bytes.
//! On disk, `ids.bin` has the records, and `lengths.bin` the two lengths of each pair, four bytes each. All integers are
//! little-endian. The lengths, eight bytes per pair, and an offset for every 256 pairs are always in memory; records on
//! disk are read when they are needed.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use transformer_core::directory::Tokenizers;
use transformer_core::regular_file;

use crate::corpus::fingerprint::Fingerprint;
use crate::error::TrainError;

pub(crate) const IDS: &str = "ids.bin";
pub(crate) const LENGTHS: &str = "lengths.bin";

/// Number of pairs from one known offset to the next.
const STRIDE: usize = 256;

const CHECKSUM_BYTES: usize = 4;

type Lengths = Vec<(u32, u32)>;

pub(crate) type DiskWriter = StoreWriter<BufWriter<File>>;

/// A source sentence and its target sentence, as token ids without BOS and EOS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentencePair {
    /// Source token ids.
    pub src: Vec<u32>,
    /// Target token ids.
    pub tgt: Vec<u32>,
}

/// Writes the records of a store. All ids must be below its `vocab_size`.
pub(crate) struct StoreWriter<W> {
    records: W,
    lengths: Lengths,
    /// Size of an id, in bytes.
    width: usize,
}

impl<W: Write> StoreWriter<W> {
    fn new(records: W, vocab_size: usize) -> Self {
        Self {
            records,
            lengths: Lengths::new(),
            width: width_of(vocab_size),
        }
    }

    pub(crate) fn push(&mut self, src: &[u32], tgt: &[u32]) -> io::Result<()> {
        for id in src.iter().chain(tgt) {
            self.records.write_all(&id.to_le_bytes()[..self.width])?;
        }
        self.records.write_all(&checksum(src, tgt).to_le_bytes())?;
        self.lengths.push((src.len() as u32, tgt.len() as u32));
        Ok(())
    }
}

impl StoreWriter<Vec<u8>> {
    pub(crate) fn in_memory(vocab_size: usize) -> Self {
        Self::new(Vec::new(), vocab_size)
    }

    pub(crate) fn finish(mut self) -> TokenStore {
        self.records.shrink_to_fit();
        TokenStore::new(Records::Memory(self.records), self.lengths, self.width)
    }
}

impl DiskWriter {
    /// Starts a store in an existing folder.
    pub(crate) fn on_disk(directory: &Path, vocab_size: usize) -> io::Result<Self> {
        let ids = File::create(directory.join(IDS))?;
        Ok(Self::new(
            BufWriter::with_capacity(1 << 20, ids),
            vocab_size,
        ))
    }

    /// Completes the store in the folder where it was started.
    pub(crate) fn finish_in(mut self, directory: &Path) -> io::Result<()> {
        self.records.flush()?;
        self.records.get_ref().sync_all()?;
        let mut file = BufWriter::new(File::create(directory.join(LENGTHS))?);
        for (src, tgt) in &self.lengths {
            file.write_all(&src.to_le_bytes())?;
            file.write_all(&tgt.to_le_bytes())?;
        }
        file.flush()?;
        file.get_ref().sync_all()
    }
}

#[derive(Debug)]
pub(crate) struct TokenStore {
    records: Records,
    width: usize,
    lengths: Arc<[(u32, u32)]>,
    /// Offset of the record of every [`STRIDE`]th pair, and the end of the last one.
    offsets: Vec<u64>,
}

#[derive(Debug)]
enum Records {
    Memory(Vec<u8>),
    Disk { path: PathBuf, file: Mutex<File> },
}

impl TokenStore {
    /// Opens a store on disk with the `vocab_size` that it was written with. The size of the files is checked.
    pub(crate) fn open(directory: &Path, vocab_size: usize) -> io::Result<Self> {
        let path = directory.join(IDS);
        let lengths = read_lengths(&directory.join(LENGTHS))?;
        let file = regular_file::open(&path)?;
        let n_bytes = file.metadata()?.len();
        let file = Mutex::new(file);
        let store = Self::new(Records::Disk { path, file }, lengths, width_of(vocab_size));
        let end = store.offsets[store.offsets.len() - 1];
        if n_bytes != end {
            let message = format!("has {n_bytes} bytes instead of {end}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(store)
    }

    fn new(records: Records, lengths: Lengths, width: usize) -> Self {
        let mut offsets = Vec::with_capacity(lengths.len() / STRIDE + 2);
        let mut end = 0;
        for (pair, &lengths) in lengths.iter().enumerate() {
            if pair % STRIDE == 0 {
                offsets.push(end);
            }
            end += record_len(lengths, width);
        }
        offsets.push(end);
        Self {
            records,
            width,
            lengths: lengths.into(),
            offsets,
        }
    }

    /// Returns the lengths of source and target of every pair, in tokens.
    pub(crate) fn lengths(&self) -> Arc<[(u32, u32)]> {
        Arc::clone(&self.lengths)
    }

    /// Returns the size of the store in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let records = match &self.records {
            Records::Memory(records) => records.len(),
            Records::Disk { .. } => 0,
        };
        records + size_of_val(&*self.lengths) + size_of_val(self.offsets.as_slice())
    }

    pub(crate) fn pair(&self, index: usize) -> Result<SentencePair, TrainError> {
        let start = index / STRIDE * STRIDE;
        let before = self.lengths[start..index].iter();
        let offset = self.offsets[index / STRIDE]
            + before
                .map(|&lengths| record_len(lengths, self.width))
                .sum::<u64>();
        let n_bytes = record_len(self.lengths[index], self.width) as usize;
        let (path, file) = match &self.records {
            Records::Memory(records) => {
                let record = &records[offset as usize..][..n_bytes];
                return Ok(self.parsed(index, record).expect("memory keeps its bytes"));
            }
            Records::Disk { path, file } => (path, file),
        };
        let mut record = vec![0; n_bytes];
        let read = {
            let mut file = file.lock();
            file.seek(SeekFrom::Start(offset))
                .and_then(|_| file.read_exact(&mut record))
        };
        read.and_then(|()| self.parsed(index, &record))
            .map_err(|source| TrainError::Store {
                path: path.clone(),
                source,
            })
    }

    /// Parses the record of a pair, and compares its checksum.
    fn parsed(&self, index: usize, record: &[u8]) -> io::Result<SentencePair> {
        let (ids, checksum_bytes) = record.split_at(record.len() - CHECKSUM_BYTES);
        let mut ids = ids.chunks_exact(self.width).map(|bytes| {
            let mut padded = [0; 4];
            padded[..bytes.len()].copy_from_slice(bytes);
            u32::from_le_bytes(padded)
        });
        let (n_src, _) = self.lengths[index];
        let src: Vec<u32> = ids.by_ref().take(n_src as usize).collect();
        let tgt: Vec<u32> = ids.collect();
        if checksum(&src, &tgt).to_le_bytes() != checksum_bytes {
            let message = format!("pair {index} is damaged: its checksum is wrong");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(SentencePair { src, tgt })
    }
}

fn read_lengths(path: &Path) -> io::Result<Lengths> {
    let bytes = regular_file::read(path, u64::MAX)?;
    let lengths = bytes.as_chunks().0.iter().copied().map(u32::from_le_bytes);
    let lengths: Vec<u32> = lengths.collect();
    let (pairs, _) = lengths.as_chunks();
    Ok(pairs.iter().map(|&[src, tgt]| (src, tgt)).collect())
}

/// Returns the `vocab_size` of a store of ids of these tokenizers.
pub(super) fn vocab_size_of(tokenizers: &Tokenizers) -> usize {
    let [src, tgt] = [tokenizers.src(), tokenizers.tgt()].map(|it| it.vocab_size());
    src.max(tgt)
}

fn width_of(vocab_size: usize) -> usize {
    if vocab_size <= 1 << 16 { 2 } else { 4 }
}

fn record_len((src, tgt): (u32, u32), width: usize) -> u64 {
    (u64::from(src) + u64::from(tgt)) * width as u64 + CHECKSUM_BYTES as u64
}

fn checksum(src: &[u32], tgt: &[u32]) -> u32 {
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
        let writer = StoreWriter::on_disk(dir.path(), vocab_size);
        let mut writer = writer.expect("the folder is writable");
        for (src, tgt) in pairs {
            writer.push(src, tgt).expect("the folder is writable");
        }
        writer
            .finish_in(dir.path())
            .expect("the folder is writable");
        dir
    }

    /// Writes the pairs to memory and to disk and reads them back, from last to first.
    fn assert_round_trip(pairs: &[(Vec<u32>, Vec<u32>)], vocab_size: usize) {
        let dir = written(pairs, vocab_size);
        let on_disk = TokenStore::open(dir.path(), vocab_size).expect("it was just written");
        let mut writer = StoreWriter::in_memory(vocab_size);
        for (src, tgt) in pairs {
            writer.push(src, tgt).expect("memory is writable");
        }
        for store in [on_disk, writer.finish()] {
            assert_eq!(store.lengths().len(), pairs.len());
            for index in (0..pairs.len()).rev() {
                let (src, tgt) = pairs[index].clone();
                let read = store.pair(index).expect("it was just written");
                assert_eq!(read, SentencePair { src, tgt });
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn written_pairs_are_read_back(
            pairs in proptest::collection::vec(
                (proptest::collection::vec(0_u32..65_536, 0..5), proptest::collection::vec(0_u32..65_536, 0..5)),
                1..700,
            ),
        ) {
            assert_round_trip(&pairs, 65_536);
        }
    }

    #[test]
    fn large_vocabularies_have_ids_of_four_bytes() {
        assert_round_trip(&[(vec![65_536, 1], vec![70_000])], 70_001);
    }

    #[test]
    fn a_truncated_store_is_refused() {
        let dir = written(&[(vec![5, 6], vec![7])], 10);
        let path = dir.path().join(IDS);
        let bytes = std::fs::read(&path).expect("it was just written");
        std::fs::write(&path, &bytes[..9]).expect("the folder is writable");
        let error = TokenStore::open(dir.path(), 10).expect_err("a byte is missing");
        assert_eq!(error.to_string(), "has 9 bytes instead of 10");
    }

    #[test]
    fn a_damaged_pair_is_detected_when_it_is_read() {
        let dir = written(&[(vec![5, 6], vec![7]), (vec![8], vec![9])], 10);
        let path = dir.path().join(IDS);
        let mut bytes = std::fs::read(&path).expect("it was just written");
        bytes[2] ^= 1;
        std::fs::write(&path, bytes).expect("the folder is writable");
        let store = TokenStore::open(dir.path(), 10).expect("its size is right");
        let error = store.pair(0).expect_err("an id was changed").to_string();
        assert!(error.contains("pair 0 is damaged"), "{error}");
        assert!(store.pair(1).is_ok());
    }
}
