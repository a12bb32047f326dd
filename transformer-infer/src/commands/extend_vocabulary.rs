//! `transformer-infer extend-vocabulary`: adds pieces to the vocabulary of a model.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args, ValueEnum};
use transformer_core::directory::{
    ExtendVocabularyError, ExtendedVocabulary, ModelDirectory, NewPieces, VocabularySide,
};
use transformer_core::lines::LineReader;
use transformer_core::text::{AddedToken, ExtendError, PiecePosition, Tokenizer};

use super::{CommandError, check_folder, one_of};

const MAX_PIECES: usize = 1_000_000;

const SIDES: [(&str, VocabularySide); 3] = [
    ("both", VocabularySide::Both),
    ("src", VocabularySide::Src),
    ("tgt", VocabularySide::Tgt),
];

/// Adds pieces to the vocabulary of a model, which is then trained further with `transformer-train --finetune`.
///
/// A new token starts as the mean of the tokens that spelled it before. Text without new pieces is translated as
/// before, or nearly always so with a beam of several hypotheses. Models of transformer-train and imported ones can be
/// extended.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("pieces").args(["add", "symbols"]).required(true).multiple(true)))]
pub(crate) struct ExtendVocabulary {
    /// Directory of the model, or of the training run that trained it.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// File with one piece a line, for example words of a domain; `-` for standard input. Blank lines are skipped.
    #[arg(long, value_name = "FILE")]
    add: Option<PathBuf>,
    /// Pieces, separated by commas, or given several times.
    #[arg(long, value_name = "PIECE,…", value_delimiter = ',')]
    symbols: Vec<String>,
    /// Skip pieces that are already in the vocabulary, instead of refusing them; with `--side both`, pieces that are in
    /// either vocabulary.
    #[arg(long)]
    skip_known: bool,
    /// Position in a word at which the pieces are found.
    #[arg(long, value_enum, default_value_t = Position::Start)]
    position: Position,
    /// The vocabulary to extend, in a model with one for each side.
    #[arg(long, value_parser = one_of(&SIDES), default_value = "both")]
    side: VocabularySide,
    /// Directory to write: a new folder, or an empty one.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Write into a folder that has files, and replace a model in it.
    #[arg(long)]
    overwrite: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Position {
    /// At the start of a word: `cardio` in `cardiologist`.
    Start,
    /// Within a word: `ologist` in `cardiologist`.
    Inside,
}

impl ExtendVocabulary {
    pub(crate) fn run(&self) -> Result<(), CommandError> {
        check_folder(&self.out, self.overwrite)?;
        let all = Pieces::read(self.add.as_deref(), &self.symbols)?;
        let position = match self.position {
            Position::Start => PiecePosition::WordStart,
            Position::Inside => PiecePosition::InWord,
        };
        let extend = |model: &ModelDirectory| {
            let pieces = match self.skip_known {
                true => all.unknown_to(&self.tokenizers(model), position),
                false => all.clone(),
            };
            let new = NewPieces {
                pieces: &pieces.texts,
                position,
                side: self.side,
            };
            let extended = model.write_extended(&self.out, &new);
            extended.map_err(|source| pieces.located(source))
        };
        let (model, added) = ModelDirectory::open_with(&self.model, extend)?;
        let text = summary(&model, &added, &self.out);
        write!(io::stdout(), "{text}").map_err(CommandError::output)
    }

    fn tokenizers<'a>(&self, model: &'a ModelDirectory) -> Vec<&'a Tokenizer> {
        let (src, tgt) = (model.tokenizers().src(), model.tokenizers().tgt());
        match self.side {
            VocabularySide::Both => vec![src, tgt],
            VocabularySide::Src => vec![src],
            VocabularySide::Tgt => vec![tgt],
        }
    }
}

#[derive(Clone)]
struct Pieces {
    texts: Vec<String>,
    origins: Vec<String>,
}

impl Pieces {
    fn read(file: Option<&Path>, symbols: &[String]) -> Result<Self, CommandError> {
        let mut pieces = Self {
            texts: Vec::new(),
            origins: Vec::new(),
        };
        if let Some(path) = file {
            let mut lines = LineReader::open(path)?;
            while let Some(line) = lines.next_line()? {
                let piece = line.trim().to_owned();
                if piece.is_empty() {
                    continue;
                }
                if pieces.texts.len() == MAX_PIECES {
                    return Err(CommandError::TooManyPieces { max: MAX_PIECES });
                }
                pieces.texts.push(piece);
                let origin = format!("{}, line {}", lines.name(), lines.n_read());
                pieces.origins.push(origin);
            }
        }
        for symbol in symbols {
            pieces.texts.push(symbol.clone());
            pieces.origins.push("--symbols".to_owned());
        }
        Ok(pieces)
    }

    fn unknown_to(&self, sides: &[&Tokenizer], position: PiecePosition) -> Self {
        let is_unknown = |text: &str| sides.iter().all(|side| !side.has_piece(text, position));
        let pieces = self.texts.iter().zip(&self.origins);
        let pieces = pieces.filter(|(text, _)| is_unknown(text));
        let (texts, origins) = pieces
            .map(|(text, origin)| (text.clone(), origin.clone()))
            .unzip();
        Self { texts, origins }
    }

    /// Adds the place where a piece was given to an error about it.
    fn located(&self, error: ExtendVocabularyError) -> CommandError {
        let piece = match &error {
            ExtendVocabularyError::Piece(
                ExtendError::Space { piece }
                | ExtendError::Special { piece }
                | ExtendError::Known { piece, .. }
                | ExtendError::Twice { piece }
                | ExtendError::Divided { piece, .. }
                | ExtendError::Dropped { piece }
                | ExtendError::Unused { piece },
            ) => piece,
            ExtendVocabularyError::Piece(ExtendError::TooLong { start, .. }) => start,
            _ => return error.into(),
        };
        // Of two equal pieces the second is at fault.
        let at_fault = |text: &String| text == piece || text.starts_with(piece.as_str());
        let exact = self.texts.iter().rposition(|text| text == piece);
        let index = exact.or_else(|| self.texts.iter().position(at_fault));
        match index.and_then(|index| self.origins.get(index)) {
            Some(origin) => CommandError::Piece {
                origin: origin.clone(),
                source: error,
            },
            None => error.into(),
        }
    }
}

/// Lists the new tokens and the tokens that spelled them before.
fn summary(model: &ModelDirectory, added: &ExtendedVocabulary, out: &Path) -> String {
    let ExtendedVocabulary { src, tgt } = added;
    let tokenizers = model.tokenizers();
    let mut text = String::new();
    if src == tgt {
        list(&mut text, "", src, tokenizers.src());
    } else {
        list(&mut text, "source ", src, tokenizers.src());
        list(&mut text, "target ", tgt, tokenizers.tgt());
    }
    let out = out.display();
    text.push_str(&format!(
        "{out}: {} source and {} target tokens, {} and {} of them new\n\
         train it further with: transformer-train --finetune {out} …\n",
        tokenizers.src().vocab_size() + src.len(),
        tokenizers.tgt().vocab_size() + tgt.len(),
        src.len(),
        tgt.len()
    ));
    text
}

fn list(text: &mut String, side: &str, added: &[AddedToken], before: &Tokenizer) {
    for AddedToken { token, parts } in added {
        let parts = parts.iter().filter_map(|id| before.token(*id));
        let parts: Vec<String> = parts.collect();
        let parts = match parts.as_slice() {
            [] => "unknown before".to_owned(),
            parts => parts.join(" + "),
        };
        text.push_str(&format!("{side}{token}\t{parts}\n"));
    }
}
