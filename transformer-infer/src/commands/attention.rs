//! `transformer-infer attention`: a page, a figure or data of the attention weights of every head.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use transformer_core::device::{self, Backend};
use transformer_infer::attention::{
    Attention, ColorScale, GENERATOR, Head, Kind, LayerHead, Selection, View, figure, page,
};
use transformer_infer::search::Search;
use transformer_infer::{OpenOptions, Translator, allocator};

use super::{
    CommandError, LanguageFlags, OutputPathError, Replacement, check_file, on_one_line, one_of,
    tell,
};

const KINDS: [(&str, Kind); 3] = [
    ("cross", Kind::Cross),
    ("encoder", Kind::Encoder),
    ("decoder", Kind::Decoder),
];
const VIEWS: [(&str, View); 3] = [
    ("map", View::HeatMap),
    ("lines", View::Lines),
    ("heads", View::HeadLines),
];
const SCALES: [(&str, ColorScale); 2] =
    [("root", ColorScale::Root), ("linear", ColorScale::Linear)];

/// Shows the attention weights of every head while a line is translated.
///
/// The extension of --out decides the format. `.html`: a page with all layers and heads, which needs no network and no
/// other file. `.svg`: a figure of one map. `.json`: all weights. An existing file is replaced if this command wrote
/// it, and kept otherwise. The translation is printed.
#[derive(Debug, Args)]
#[command(name = "attention")]
pub(crate) struct AttentionCommand {
    /// Directory of the model, or of the training run that trained it.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    #[command(flatten)]
    languages: LanguageFlags,
    /// File to write: FILE.html, FILE.svg or FILE.json.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Number of hypotheses kept at each step; 1 is greedy search, the fastest [default: the model's, or 4].
    #[arg(long, value_name = "N")]
    beam: Option<usize>,
    /// Use this translation instead of the model's own.
    #[arg(long, value_name = "TEXT", conflicts_with = "beam")]
    tgt: Option<String>,
    /// Attention that the figure shows, and the page first.
    #[arg(long, value_name = "KIND", value_parser = one_of(&KINDS), default_value = "cross")]
    kind: Kind,
    /// Layer, counted from 1 at the bottom [default: at five sixths of the depth, such as 5 of 6].
    #[arg(long, value_name = "N")]
    layer: Option<usize>,
    /// Head, counted from 1, or `mean`.
    #[arg(long, value_name = "HEAD", default_value_t = Head::Mean)]
    head: Head,
    /// Form of the figure: a heat map, lines between two columns of tokens, or lines in a color for each head.
    #[arg(long, value_name = "VIEW", value_parser = one_of(&VIEWS), default_value = "map")]
    view: View,
    /// Colors of a heat map: by the square root of the weight, so that small ones are visible, or linear.
    #[arg(long, value_name = "SCALE", value_parser = one_of(&SCALES), default_value = "root")]
    scale: ColorScale,
    /// Print errors only to standard error.
    #[arg(long, short)]
    quiet: bool,
    /// Line to translate.
    #[arg(value_name = "TEXT")]
    text: String,
}

#[derive(Debug, Serialize)]
struct Data<'a> {
    generator: &'static str,
    #[serde(flatten)]
    attention: &'a Attention,
}

impl AttentionCommand {
    pub(crate) fn run(&self, backend: Option<&str>) -> Result<(), CommandError> {
        self.search(&Search::default()).validate()?;
        let picture = Picture::new(&self.out)?;
        let (backend, device) = device::choose(backend)?;
        let options = OpenOptions {
            as_module: true,
            ..OpenOptions::default()
        };
        let translator = Translator::open_ensemble(&[&self.model], &device, &options)?;
        allocator::keep_freed_memory();
        let translator = self.languages.apply(translator)?;
        self.report(&translator, backend);
        let attention = self.attention(&translator, &self.search(translator.search()))?;
        let content = self.draw(&attention, picture.format)?;
        picture.write(&content)?;
        writeln!(io::stdout(), "{}", on_one_line(&attention.tgt)).map_err(CommandError::output)?;
        if !self.quiet {
            let (path, kilobytes) = (picture.path.display(), content.len().div_ceil(1000));
            tell(format_args!("{path}: {kilobytes} kB"));
        }
        Ok(())
    }

    /// Returns the search for the best translation; `defaults` apply where a flag is absent.
    fn search(&self, defaults: &Search) -> Search {
        Search {
            beam_size: self.beam.unwrap_or(defaults.beam_size),
            n_best: 1,
            sampling: None,
            ..defaults.clone()
        }
    }

    fn attention(
        &self,
        translator: &Translator,
        search: &Search,
    ) -> Result<Attention, CommandError> {
        if let Some(tgt) = &self.tgt {
            return Ok(translator.forced_attention(&self.text, tgt)?);
        }
        let mut translations = translator.translate_with(&[&self.text], search)?;
        let best = translations.remove(0).candidates.remove(0); // neither list is ever empty
        Ok(translator.attention(&self.text, &best.hypothesis)?)
    }

    fn draw(&self, attention: &Attention, format: Format) -> Result<String, CommandError> {
        let selection = Selection {
            kind: self.kind,
            layer_head: LayerHead {
                layer: self.layer,
                head: self.head,
            },
            view: self.view,
            scale: self.scale,
        };
        Ok(match format {
            Format::Html => page(attention, selection)?,
            Format::Svg => figure(attention, selection)?,
            Format::Json => {
                let data = Data {
                    generator: GENERATOR,
                    attention,
                };
                serde_json::to_string(&data).expect("text and numbers can be serialized") + "\n"
            }
        })
    }

    fn report(&self, translator: &Translator, backend: Backend) {
        if self.quiet {
            return;
        }
        let config = translator.config();
        let (encoder, decoder) = (config.n_encoder_layers, config.n_decoder_layers);
        let model = self.model.display();
        let heads = config.n_heads;
        tell(format_args!(
            "backend {backend}, model {model} ({encoder}+{decoder} layers of {heads} heads)"
        ));
    }
}

/// Files of this command contain the name of their generator within this many bytes.
const HEAD_BYTES: u64 = 2048;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Html,
    Svg,
    Json,
}

#[derive(Debug)]
pub(super) struct Picture {
    pub(super) path: PathBuf,
    pub(super) format: Format,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum PictureError {
    #[error(
        "`{path}` has no known extension; use .html for a page, .svg for a figure or .json for data"
    )]
    Ending { path: PathBuf },
    #[error("`{path}` does not end in .html; give --html a name that does")]
    NoPage { path: PathBuf },
    #[error(
        "`{path}` exists and was not written by this command; remove it, or choose another name"
    )]
    Foreign { path: PathBuf },
    #[error("`{path}` is not a file; choose another name")]
    NotAFile { path: PathBuf },
    #[error(transparent)]
    OutputPath(#[from] OutputPathError),
    #[error("cannot write `{path}`")]
    Write { path: PathBuf, source: io::Error },
}

impl Picture {
    /// Checks that the file can be written: it does not exist, or this command wrote it.
    pub(super) fn new(path: &Path) -> Result<Self, PictureError> {
        let path = path.to_owned();
        let ending = path.extension().and_then(|ending| ending.to_str());
        let format = match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("html" | "htm") => Format::Html,
            Some("svg") => Format::Svg,
            Some("json") => Format::Json,
            _ => return Err(PictureError::Ending { path }),
        };
        Self::checked(path, format, GENERATOR)
    }

    /// Checks that the file of a page can be written: it does not exist, or this generator wrote it.
    pub(super) fn page(path: &Path, generator: &str) -> Result<Self, PictureError> {
        let path = path.to_owned();
        match path.extension().and_then(|ending| ending.to_str()) {
            Some(ending) if ending.eq_ignore_ascii_case("html") => {
                Self::checked(path, Format::Html, generator)
            }
            _ => Err(PictureError::NoPage { path }),
        }
    }

    fn checked(path: PathBuf, format: Format, generator: &str) -> Result<Self, PictureError> {
        match is_replaceable(&path, generator) {
            Ok(true) => {}
            Ok(false) => return Err(PictureError::Foreign { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) if path.exists() && !path.is_file() => {
                return Err(PictureError::NotAFile { path });
            }
            Err(source) => return Err(PictureError::Write { path, source }),
        }
        check_file(&path)?;
        Ok(Self { path, format })
    }

    /// Writes the file atomically: if the process is killed, either the old or the new file remains.
    pub(super) fn write(&self, content: &str) -> Result<(), PictureError> {
        let write = || {
            let mut file = Replacement::create(&self.path)?;
            file.output.write_all(content.as_bytes())?;
            file.finish()
        };
        write().map_err(|source| PictureError::Write {
            path: self.path.clone(),
            source,
        })
    }
}

fn is_replaceable(path: &Path, generator: &str) -> io::Result<bool> {
    if fs::metadata(path)?.is_file() {
        let mut head = Vec::new();
        File::open(path)?.take(HEAD_BYTES).read_to_end(&mut head)?;
        Ok(head.is_empty() || String::from_utf8_lossy(&head).contains(generator))
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("the system has temporary directories")
    }

    #[test]
    fn the_extension_decides_the_format() {
        let folder = folder();
        let format = |name: &str| {
            Picture::new(&folder.path().join(name))
                .map(|it| it.format)
                .ok()
        };
        assert_eq!(format("a.html"), Some(Format::Html));
        assert_eq!(format("a.b.SVG"), Some(Format::Svg));
        assert_eq!(format("a.json"), Some(Format::Json));
        assert_eq!(format("a.png"), None);
        assert_eq!(format("html"), None);
    }

    #[test]
    fn a_file_of_this_command_is_replaced() {
        let folder = folder();
        let path = folder.path().join("a.svg");
        for content in [format!("<!-- {GENERATOR} --> old"), "new".to_owned()] {
            let picture = Picture::new(&path).expect("the file is missing or of this command");
            picture.write(&content).expect("the folder is writable");
            assert_eq!(fs::read_to_string(&path).expect("it was written"), content);
        }
        assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 1);
    }

    #[test]
    fn a_file_of_another_program_is_kept() {
        let folder = folder();
        let path = folder.path().join("thesis.html");
        fs::write(&path, "<p>months of work").expect("the folder is writable");
        let error = Picture::new(&path).expect_err("another program wrote the file");
        assert!(matches!(error, PictureError::Foreign { .. }), "{error}");
    }

    #[test]
    fn a_folder_is_refused() {
        let folder = folder();
        let path = folder.path().join("a.html");
        fs::create_dir(&path).expect("the folder is writable");
        let error = Picture::new(&path).expect_err("a folder is in the way");
        assert!(matches!(error, PictureError::NotAFile { .. }), "{error}");
    }

    #[test]
    fn a_missing_folder_is_named() {
        let folder = folder();
        let error = Picture::new(&folder.path().join("no/a.html")).expect_err("there is no folder");
        assert!(error.to_string().contains("no` does not exist"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn the_file_has_the_usual_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder();
        let (written, usual) = (folder.path().join("a.svg"), folder.path().join("b"));
        let picture = Picture::new(&written).expect("there is no file yet");
        picture.write("").expect("the folder is writable");
        fs::write(&usual, "").expect("the folder is writable");
        let mode = |path: &Path| {
            fs::metadata(path)
                .expect("it is there")
                .permissions()
                .mode()
        };
        assert_eq!(mode(&written), mode(&usual));
    }
}
