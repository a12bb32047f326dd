//! [`Scale`]: the colors of values, and round numbers for the marks of an axis.

/// The mapping of a heat map's values to colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// From 0, the page, to 1, dark blue: probabilities and attention weights.
    Share,
    /// From −1, blue, through white to 1, red; beyond, the ends.
    Signed,
}

impl Scale {
    /// Returns the color of a value, in one of 20 tones to each side.
    pub(super) fn color(self, value: f32) -> String {
        let value = (value * 20.0).round() / 20.0;
        let (from, to, share) = match self {
            Self::Share => ([238.0, 242.0, 247.0], [18.0, 78.0, 145.0], value),
            Self::Signed if value < 0.0 => ([247.0, 247.0, 247.0], [33.0, 102.0, 172.0], -value),
            Self::Signed => ([247.0, 247.0, 247.0], [178.0, 24.0, 43.0], value),
        };
        let share = share.clamp(0.0, 1.0);
        let mix = |index: usize| -> u8 {
            let (from, to): (f32, f32) = (from[index], to[index]);
            (from + (to - from) * share).round() as u8
        };
        format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
    }

    /// Returns whether white text can be read on the color.
    pub(super) fn is_dark(self, value: f32) -> bool {
        match self {
            Self::Share => value > 0.5,
            Self::Signed => value.abs() > 0.6,
        }
    }
}

/// Returns about five round numbers between two numbers.
pub(super) fn marks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low).max(f64::MIN_POSITIVE) / 5.0;
    let magnitude = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
    let step = steps
        .into_iter()
        .map(|step| step * magnitude)
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(rough);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|index| index as f64 * step).collect()
}

/// Returns a number in the form for an axis.
pub(super) fn label(value: f64) -> String {
    let magnitude = value.abs();
    let text = match magnitude {
        0.0 => "0".to_owned(),
        _ if magnitude >= 1e9 => return format!("{} · 10⁹", label(value / 1e9)),
        _ if magnitude < 1e-3 => format!("{value:.5}"),
        _ if magnitude < 1.0 => format!("{value:.4}"),
        _ => format!("{value:.2}"),
    };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_inside() {
        assert_eq!(marks(0.0, 10.0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(marks(3.0, 101.0), [20.0, 40.0, 60.0, 80.0, 100.0]);
    }

    #[test]
    fn labels_have_no_zeros_at_the_end() {
        assert_eq!(label(0.25), "0.25");
        assert_eq!(label(20.0), "20");
        assert_eq!(label(0.0005), "0.0005");
    }

    #[test]
    fn the_ends_of_a_scale_are_its_colors() {
        assert_eq!(Scale::Share.color(1.0), "#124e91");
        assert_eq!(Scale::Signed.color(-7.0), "#2166ac");
    }
}
