//! `transformer-infer attention`: a page, a figure or data of the attention weights of every head.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;
use transformer_core::device::{self, Backend};
use transformer_infer::attention::{
    Attention, ColorScale, GENERATOR, Head, Kind, LayerHead, Selection, View, figure, page,
};
use transformer_infer::search::Search;
use transformer_infer::{OpenOptions, Translator};

use super::picture::{Format, Picture};
use super::{CommandError, LanguageFlags, on_one_line};

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
    #[arg(long, value_name = "KIND", value_enum, default_value_t = KindName::Cross)]
    kind: KindName,
    /// Layer, counted from 1 at the bottom [default: at five sixths of the depth, such as 5 of 6].
    #[arg(long, value_name = "N")]
    layer: Option<usize>,
    /// Head, counted from 1, or `mean`.
    #[arg(long, value_name = "HEAD", default_value_t = Head::Mean)]
    head: Head,
    /// Form of the figure: a heat map, lines between two columns of tokens, or lines in a color for each head.
    #[arg(long, value_name = "VIEW", value_enum, default_value_t = ViewName::Map)]
    view: ViewName,
    /// Colors of a heat map: by the square root of the weight, so that small ones are visible, or linear.
    #[arg(long, value_name = "SCALE", value_enum, default_value_t = ScaleName::Root)]
    scale: ScaleName,
    /// Print errors only to standard error.
    #[arg(long, short)]
    quiet: bool,
    /// Line to translate.
    #[arg(value_name = "TEXT")]
    text: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum KindName {
    Cross,
    Encoder,
    Decoder,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ViewName {
    Map,
    Lines,
    Heads,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScaleName {
    Root,
    Linear,
}

/// The content of a `.json` file.
#[derive(Debug, Serialize)]
struct Data<'a> {
    generator: &'static str,
    #[serde(flatten)]
    attention: &'a Attention,
}

impl AttentionCommand {
    /// Translates the line, and writes the file.
    pub(crate) fn run(&self, backend: Option<&str>) -> Result<(), CommandError> {
        self.search(&Search::default()).validate()?;
        let picture = Picture::new(&self.out)?;
        let (backend, device) = device::choose(backend)?;
        let options = OpenOptions {
            as_module: true,
            ..OpenOptions::default()
        };
        let translator = Translator::open_ensemble(&[&self.model], &device, &options)?;
        let translator = self.languages.apply(translator)?;
        self.report(&translator, backend);
        let attention = self.attention(&translator, &self.search(translator.search()))?;
        let content = self.draw(&attention, picture.format)?;
        picture.write(&content)?;
        writeln!(io::stdout(), "{}", on_one_line(&attention.tgt)).map_err(CommandError::output)?;
        if !self.quiet {
            let (path, kilobytes) = (picture.path().display(), content.len().div_ceil(1000));
            let _ = writeln!(io::stderr(), "{path}: {kilobytes} kB");
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
            kind: match self.kind {
                KindName::Cross => Kind::Cross,
                KindName::Encoder => Kind::Encoder,
                KindName::Decoder => Kind::Decoder,
            },
            layer_head: LayerHead {
                layer: self.layer,
                head: self.head,
            },
            view: match self.view {
                ViewName::Map => View::HeatMap,
                ViewName::Lines => View::Lines,
                ViewName::Heads => View::HeadLines,
            },
            scale: match self.scale {
                ScaleName::Root => ColorScale::Root,
                ScaleName::Linear => ColorScale::Linear,
            },
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

    /// Prints the backend and the model to standard error.
    fn report(&self, translator: &Translator, backend: Backend) {
        if self.quiet {
            return;
        }
        let config = translator.config();
        let (encoder, decoder) = (config.n_encoder_layers, config.n_decoder_layers);
        let model = self.model.display();
        let heads = config.n_heads;
        let _ = writeln!(
            io::stderr(),
            "backend {backend}, model {model} ({encoder}+{decoder} layers of {heads} heads)"
        );
    }
}
