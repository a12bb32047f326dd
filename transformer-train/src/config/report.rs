//! `[report]`: files for people who watch a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Files for people who watch a run, beside `metrics.csv` and `curve.svg`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReportSettings {
    /// Event file of TensorBoard in the folder of the run: `off`, `scalars` or `histograms`. Default: `scalars`.
    pub tensorboard: TensorBoard,
}

/// The content of the event file of TensorBoard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TensorBoard {
    /// No event file.
    Off,
    /// The metrics of every interval, and the sentences that are shown with their translations.
    Scalars,
    /// The same, and at every validation a histogram of each weight matrix: about a kilobyte each.
    Histograms,
}

impl Default for ReportSettings {
    fn default() -> Self {
        Self {
            tensorboard: TensorBoard::Scalars,
        }
    }
}
