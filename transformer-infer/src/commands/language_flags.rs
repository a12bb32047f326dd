//! [`LanguageFlags`]: the languages between which a multilingual model translates.

use clap::Args;
use transformer_infer::{Translator, TranslatorError};

use super::CommandError;

/// The flags of commands that use a multilingual model.
#[derive(Debug, Args)]
pub(crate) struct LanguageFlags {
    /// Language of the source, for a multilingual model such as NLLB-200: a code such as de or zh-Hant, or the model's
    /// own, such as deu_Latn [default: the one given to `import`].
    #[arg(long, value_name = "CODE")]
    src_lang: Option<String>,
    /// Language of the target, likewise.
    #[arg(long, value_name = "CODE")]
    tgt_lang: Option<String>,
}

impl LanguageFlags {
    /// Sets the languages of a translator.
    pub(crate) fn apply(&self, translator: Translator) -> Result<Translator, CommandError> {
        let (src, tgt) = (self.src_lang.as_deref(), self.tgt_lang.as_deref());
        let translator = translator.with_direction(src, tgt);
        Ok(translator.map_err(TranslatorError::from)?)
    }
}
