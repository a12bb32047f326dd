//! [`Route`]: the one or two models that translate between two languages.

use std::sync::Arc;

use transformer_core::text::LanguageCode;

use super::Served;

/// The models that translate in turn.
#[derive(Clone, Debug)]
pub(crate) enum Route {
    /// One model.
    Direct(Arc<Served>),
    /// Through a third language.
    Pivot {
        /// Translates into the third language.
        first: Arc<Served>,
        /// Translates from the third language.
        second: Arc<Served>,
    },
}

impl Route {
    /// Returns the model that reads the source.
    pub(crate) fn first(&self) -> &Arc<Served> {
        match self {
            Self::Direct(served) | Self::Pivot { first: served, .. } => served,
        }
    }

    /// Returns the model that writes the translation.
    pub(crate) fn last(&self) -> &Arc<Served> {
        match self {
            Self::Direct(served) | Self::Pivot { second: served, .. } => served,
        }
    }

    /// Returns the language of the source, if known.
    pub(crate) fn source(&self) -> Option<&LanguageCode> {
        self.first().languages().src.as_ref()
    }

    /// Returns the language of the translation, if known.
    pub(crate) fn target(&self) -> Option<&LanguageCode> {
        self.last().languages().tgt.as_ref()
    }

    /// Returns the name of the model, or the names of both with a `+` between them.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Direct(served) => served.name().to_owned(),
            Self::Pivot { first, second } => format!("{}+{}", first.name(), second.name()),
        }
    }
}
