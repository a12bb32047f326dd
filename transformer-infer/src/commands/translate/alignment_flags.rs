//! The flags of `translate` that ask which words belong together.

use clap::Args;
use transformer_infer::attention::{Alignment, Head, Heads, Kind};
use transformer_infer::{Translation, Translator};

use crate::commands::CommandError;

#[derive(Debug, Args)]
pub(super) struct AlignmentFlags {
    /// Print behind each translation a tab and which words belong together, as in `0-0 1-2`: word of the
    /// source, word of the translation, counted from 0, as attention aligns them. With --json a field.
    #[arg(long)]
    alignments: bool,
    /// With --alignments: which layer of the decoder is asked, counted from 1 at the bottom; without it
    /// five sixths up, as the fifth of six.
    #[arg(long, value_name = "N", requires = "alignments")]
    alignment_layer: Option<usize>,
    /// With --alignments: which head is asked, counted from 1, or `mean`.
    #[arg(long, value_name = "HEAD", default_value_t = Head::Mean, requires = "alignments")]
    alignment_head: Head,
}

impl AlignmentFlags {
    fn heads(&self) -> Heads {
        Heads {
            layer: self.alignment_layer,
            head: self.alignment_head,
        }
    }

    /// Checks that the model has the layer and the head.
    pub(super) fn check(&self, translator: &Translator) -> Result<(), CommandError> {
        self.heads().layer_in(translator.config(), Kind::Cross)?;
        Ok(())
    }

    /// Returns the alignments of each line's translations, if they are asked for.
    pub(super) fn align(
        &self,
        translator: &Translator,
        lines: &[&str],
        translations: &[Translation],
    ) -> Result<Option<Vec<Vec<Alignment>>>, CommandError> {
        if !self.alignments {
            return Ok(None);
        }
        let found = translator.alignments(lines, translations, self.heads())?;
        Ok(Some(found))
    }
}
