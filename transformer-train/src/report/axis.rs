//! The axes of the training curves: ranges, ticks and labels.

/// A panel of the image with its vertical axis.
#[derive(Debug)]
pub(super) struct Panel {
    pub(super) top: f64,
    height: f64,
    /// Value at the bottom edge.
    pub(super) lo: f64,
    /// Value at the top edge.
    pub(super) hi: f64,
}

impl Panel {
    /// Creates a panel that contains all values, with a margin given as a fraction of their range.
    pub(super) fn around(
        top: f64,
        height: f64,
        values: impl Iterator<Item = f64> + Clone,
        margin: f64,
    ) -> Self {
        let lo = values.clone().fold(f64::INFINITY, f64::min);
        let hi = values.fold(f64::NEG_INFINITY, f64::max);
        let (lo, hi) = if lo <= hi { (lo, hi) } else { (0.0, 1.0) };
        let margin = ((hi - lo) * margin).max(0.05);
        Self {
            top,
            height,
            lo: lo - margin,
            hi: hi + margin,
        }
    }

    /// Creates a panel from zero to above all values.
    pub(super) fn from_zero(top: f64, height: f64, values: impl Iterator<Item = f64>) -> Self {
        let highest = values.fold(0.0, f64::max);
        let hi = if highest > 0.0 { 1.08 * highest } else { 1.0 };
        Self {
            top,
            height,
            lo: 0.0,
            hi,
        }
    }

    pub(super) fn bottom(&self) -> f64 {
        self.top + self.height
    }

    pub(super) fn y(&self, value: f64) -> f64 {
        self.top + self.height * (self.hi - value) / (self.hi - self.lo)
    }
}

/// Returns about `max_ticks` or fewer multiples of 1, 2 or 5 times a power of ten between `lo` and `hi`.
pub(super) fn ticks(lo: f64, hi: f64, max_ticks: usize) -> Vec<f64> {
    let raw = (hi - lo) / max_ticks as f64;
    let power = 10_f64.powf(raw.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = steps.into_iter().find(|step| *step >= raw).unwrap_or(raw);
    let first = (lo / step).ceil() as i64;
    let last = (hi / step).floor() as i64;
    (first..=last).map(|n| n as f64 * step).collect()
}

/// Returns round perplexities: their positions on the axis, in nats, and their labels.
pub(super) fn perplexity_ticks(panel: &Panel) -> Vec<(f64, String)> {
    let (lo, hi) = (panel.lo.exp(), panel.hi.exp());
    let decades = -1..=9;
    let round = |factors: &[f64]| -> Vec<f64> {
        let all = decades
            .clone()
            .flat_map(|power| factors.iter().map(move |f| f * 10_f64.powi(power)));
        all.filter(|value| (lo..=hi).contains(value)).collect()
    };
    let one_two_five = round(&[1.0, 2.0, 5.0]);
    let values = match one_two_five.len() {
        0..3 => ticks(lo, hi, 5)
            .into_iter()
            .filter(|value| *value > 0.0)
            .collect(),
        3..10 => one_two_five,
        _ => round(&[1.0]),
    };
    values
        .into_iter()
        .map(|value| (value.ln(), number(value)))
        .collect()
}

pub(super) fn with_labels(ticks: &[f64]) -> Vec<(f64, String)> {
    ticks.iter().map(|tick| (*tick, number(*tick))).collect()
}

/// Formats a round number without trailing zeros.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        small if small < 0.01 => {
            let rounded = format!("{value:.2e}");
            let (digits, power) = rounded.split_once('e').unwrap_or((&rounded, "0"));
            format!(
                "{}e{power}",
                digits.trim_end_matches('0').trim_end_matches('.')
            )
        }
        large if large >= 100.0 => format!("{value:.0}"),
        _ => {
            let rounded = format!("{value:.3}");
            rounded
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_within_the_range() {
        assert_eq!(
            ticks(0.0, 3300.0, 8),
            [0.0, 500.0, 1000.0, 1500.0, 2000.0, 2500.0, 3000.0]
        );
    }

    #[test]
    fn perplexities_have_ticks_on_a_logarithmic_scale() {
        let panel = Panel {
            top: 0.0,
            height: 100.0,
            lo: 1.5_f64.ln(),
            hi: 60_f64.ln(),
        };
        let labels: Vec<String> = perplexity_ticks(&panel)
            .into_iter()
            .map(|(_, it)| it)
            .collect();
        assert_eq!(labels, ["2", "5", "10", "20", "50"]);
    }
}
