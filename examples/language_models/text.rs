//! The text of the language models: the documents of this repository, as the ids of characters.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use burn::tensor::{Device, Int, Tensor, TensorData};
use transformer_core::random::SplitMix64;

/// A character that the model has to fill in; labels of it have no loss.
pub(crate) const MASK: i64 = 0;
/// A character that hardly ever occurs.
const RARE: i64 = 1;
/// Fewer occurrences make a character rare.
const MIN_COUNT: usize = 20;

/// Ids of characters, to train and to validate on.
#[derive(Debug)]
pub(crate) struct Text {
    /// The characters of the ids from 2 on.
    characters: Vec<char>,
    pub(crate) train: Vec<i64>,
    pub(crate) valid: Vec<i64>,
}

impl Text {
    /// Reads the documents. The last tenth of each is for validation.
    pub(crate) fn read() -> Result<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        let documents = documents(&folder)?;
        let mut counts = vec![0_usize; 128];
        for byte in documents
            .iter()
            .flat_map(|it| it.bytes())
            .filter(u8::is_ascii)
        {
            counts[usize::from(byte)] += 1;
        }
        let ascii = (0..128_u8).map(char::from).zip(counts);
        let frequent = ascii.filter(|(_, count)| *count >= MIN_COUNT);
        let characters: Vec<char> = frequent.map(|(character, _)| character).collect();
        let id = |character: char| {
            let position = characters.iter().position(|it| *it == character);
            position.map_or(RARE, |position| position as i64 + 2)
        };
        let (mut train, mut valid) = (Vec::new(), Vec::new());
        for document in documents {
            let ids: Vec<i64> = document.chars().map(id).collect();
            let (first, last) = ids.split_at(ids.len() / 10 * 9);
            train.extend(first);
            valid.extend(last);
        }
        Ok(Self {
            characters,
            train,
            valid,
        })
    }

    /// Returns the number of ids.
    pub(crate) fn vocab_size(&self) -> usize {
        self.characters.len() + 2
    }

    /// Returns the loss of a model that knows only how often each character occurs, in nats per character of the
    /// validation text: the baseline.
    pub(crate) fn unigram_loss(&self) -> f64 {
        // One more for each, so that none has probability 0.
        let mut counts = vec![1.0; self.vocab_size()];
        for id in &self.train {
            counts[*id as usize] += 1.0;
        }
        let total: f64 = counts.iter().sum();
        let losses = self
            .valid
            .iter()
            .map(|id| (total / counts[*id as usize]).ln());
        losses.sum::<f64>() / self.valid.len() as f64
    }

    /// Returns ids as text.
    pub(crate) fn decode(&self, ids: &[i64]) -> String {
        let character = |id: &i64| match *id {
            MASK => '_',
            RARE => '?',
            id => self.characters[id as usize - 2],
        };
        ids.iter().map(character).collect()
    }
}

/// Reads all Markdown files of a folder and of those below it, in the order of their paths.
fn documents(folder: &Path) -> Result<Vec<String>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
    let paths: std::io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            found.extend(documents(&path)?);
        } else if path.extension().is_some_and(|it| it == "md") {
            let text = fs::read_to_string(&path);
            found.push(text.with_context(|| format!("cannot read `{}`", path.display()))?);
        }
    }
    Ok(found)
}

/// Draws rows of `len` consecutive ids.
pub(crate) fn rows(
    ids: &[i64],
    n_rows: usize,
    len: usize,
    random: &mut SplitMix64,
) -> Vec<Vec<i64>> {
    let n_starts = (ids.len() - len) as u64;
    let row = |_| {
        let start = random.below(n_starts) as usize;
        ids[start..start + len].to_vec()
    };
    (0..n_rows).map(row).collect()
}

/// Copies rows to a device.
///
/// # Shapes
///
/// - returns: `[batch, len]`
pub(crate) fn tensor(rows: &[Vec<i64>], device: &Device) -> Tensor<2, Int> {
    Tensor::from_data(
        TensorData::new(rows.concat(), [rows.len(), rows[0].len()]),
        device,
    )
}

/// Fails unless the loss is clearly below the baseline.
pub(crate) fn compare(loss: f64, text: &Text) -> Result<()> {
    let baseline = text.unigram_loss();
    println!(
        "validation: {loss:.3} nats per character; by the frequencies of characters {baseline:.3}"
    );
    ensure!(
        loss < 0.85 * baseline,
        "the model has learnt little more than frequencies"
    );
    Ok(())
}
