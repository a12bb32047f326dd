//! The learning rate as a metric: that of the last update.

use std::sync::Arc;

use burn::tensor::TensorReadError;
use burn_train::metric::{
    Metric, MetricAttributes, MetricMetadata, Numeric, NumericAttributes, NumericEntry,
    SerializedEntry,
};

use super::names::LEARNING_RATE;

/// The learning rate of the last update. Burn's own metric reports the mean over an interval, which is not the rate of
/// any update.
#[derive(Clone)]
pub(crate) struct LearningRate {
    name: Arc<String>,
    last: f64,
}

impl Default for LearningRate {
    fn default() -> Self {
        Self {
            name: Arc::new(LEARNING_RATE.to_owned()),
            last: f64::NAN,
        }
    }
}

impl LearningRate {
    fn entry(&self) -> SerializedEntry {
        let Self { name, last } = self;
        SerializedEntry::new(format!("{name}: {last:.2e}"), last.to_string())
    }
}

impl Metric for LearningRate {
    type Input = ();

    fn name(&self) -> Arc<String> {
        Arc::clone(&self.name)
    }

    fn attributes(&self) -> MetricAttributes {
        NumericAttributes {
            unit: None,
            higher_is_better: false,
        }
        .into()
    }

    fn update(
        &mut self,
        _item: &(),
        metadata: &MetricMetadata,
    ) -> Result<SerializedEntry, TensorReadError> {
        if let Some(rates) = &metadata.lr {
            self.last = rates.base();
        }
        Ok(self.entry())
    }

    fn compute(&mut self) -> Result<SerializedEntry, TensorReadError> {
        Ok(self.entry())
    }

    fn clear(&mut self) {}
}

impl Numeric for LearningRate {
    fn value(&self) -> Option<NumericEntry> {
        Some(NumericEntry::Value(self.last))
    }

    fn running_value(&self) -> Option<NumericEntry> {
        self.value()
    }

    fn final_value(&self) -> NumericEntry {
        NumericEntry::Final(self.last)
    }
}
