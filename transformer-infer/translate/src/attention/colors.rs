//! The colors of figures: a range for weights, and one color for each head.

use std::fmt::Write;

use super::ColorScale;

/// The colors at the positions 0, ½ and 1, with interpolation between them; the same as on the page.
const RAMP: [[f32; 3]; 3] = [
    [238.0, 242.0, 248.0],
    [76.0, 139.0, 214.0],
    [12.0, 36.0, 97.0],
];

/// Returns the color of a weight.
pub(super) fn of_weight(weight: f32, scale: ColorScale) -> String {
    let position = scale.position(weight) * 2.0;
    let (from, to, share) = match position < 1.0 {
        true => (RAMP[0], RAMP[1], position),
        false => (RAMP[1], RAMP[2], position - 1.0),
    };
    let channel = |index: usize| from[index] + (to[index] - from[index]) * share;
    hexadecimal([channel(0), channel(1), channel(2)])
}

/// Returns the color of a head, counted from 1, among `n_heads`: equally spaced hues from blue on, as on the page.
pub(super) fn of_head(head: usize, n_heads: usize) -> String {
    let hue = ((head - 1) as f32 * 360.0 / n_heads as f32 + 215.0) % 360.0;
    // From hue, saturation and lightness: https://www.w3.org/TR/css-color-3/#hsl-color
    let (saturation, lightness) = (0.72_f32, 0.44_f32);
    let channel = |shift: f32| {
        let k = (shift + hue / 30.0) % 12.0;
        let range = saturation * lightness.min(1.0 - lightness);
        255.0 * (lightness - range * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0))
    };
    hexadecimal([channel(0.0), channel(8.0), channel(4.0)])
}

fn hexadecimal(channels: [f32; 3]) -> String {
    let mut color = String::from("#");
    for channel in channels {
        let _ = write!(color, "{:02x}", channel.round() as u8); // writing to a string does not fail
    }
    color
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_of_the_ramp_have_its_colors() {
        let colors = |scale, middle| [0.0, middle, 1.0].map(|weight| of_weight(weight, scale));
        let expected = ["#eef2f8", "#4c8bd6", "#0c2461"];
        assert_eq!(colors(ColorScale::Root, 0.25), expected);
        assert_eq!(colors(ColorScale::Linear, 0.5), expected);
    }

    #[test]
    fn hues_become_the_colors_that_browsers_compute() {
        // hsl(215 72% 44%) and hsl(35 72% 44%), from Python's colorsys.
        assert_eq!(of_head(1, 2), "#1f63c1");
        assert_eq!(of_head(2, 2), "#c17e1f");
    }

    #[test]
    fn every_head_has_a_color_of_its_own() {
        let mut colors: Vec<String> = (1..=16).map(|head| of_head(head, 16)).collect();
        colors.sort();
        colors.dedup();
        assert_eq!(colors.len(), 16);
    }
}
