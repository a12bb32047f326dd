//! The flags of `translate` for word alignments.

use clap::Args;
use transformer_infer::attention::{Alignment, Head, Kind, LayerHead};
use transformer_infer::{Translation, Translator, TranslatorError};

use crate::commands::CommandError;

#[derive(Debug, Args)]
pub(super) struct AlignmentFlags {
    /// Print after each translation a tab and its word alignment, such as `0-0 1-2`: source word and translation
    /// word, counted from 0, aligned by attention. With --json it is a field.
    #[arg(long)]
    pub(super) alignments: bool,
    /// With --alignments: layer of the decoder, counted from 1 at the bottom [default: at five sixths of the depth,
    /// such as 5 of 6].
    #[arg(long, value_name = "N", requires = "alignments")]
    alignment_layer: Option<usize>,
    /// With --alignments: head, counted from 1, or `mean`.
    #[arg(long, value_name = "HEAD", default_value_t = Head::Mean, requires = "alignments")]
    alignment_head: Head,
}

impl AlignmentFlags {
    fn layer_head(&self) -> LayerHead {
        LayerHead {
            layer: self.alignment_layer,
            head: self.alignment_head,
        }
    }

    /// Checks that the model has the layer and the head, and loads the data for `--alignments`, so that an error comes
    /// before the first translation.
    pub(super) fn check(&self, translator: &Translator) -> Result<(), CommandError> {
        self.layer_head()
            .layer_in(translator.config(), Kind::Cross)?;
        if self.alignments {
            // Attention is computed by the module, which a translator on a CPU loads on first use.
            translator.model().map_err(TranslatorError::from)?;
        }
        Ok(())
    }

    /// Returns the alignments of each line's translations, with `--alignments`.
    pub(super) fn align(
        &self,
        translator: &Translator,
        lines: &[&str],
        translations: &[Translation],
    ) -> Result<Option<Vec<Vec<Alignment>>>, CommandError> {
        if !self.alignments {
            return Ok(None);
        }
        let found = translator.alignments(lines, translations, self.layer_head())?;
        Ok(Some(found))
    }
}
