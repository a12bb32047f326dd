//! Training curves as an SVG image: perplexity, BLEU and learning rate over the updates.

use super::csv_log::rows;
use super::drawing::{
    Drawing, LEFT, Panel, Point, RIGHT, number, perplexity_ticks, ticks, with_labels,
};
use crate::validation::{BLEU, PERPLEXITY};

/// Number of line segments of the learning rate.
const N_RATES: u64 = 240;

/// Draws the contents of `metrics.csv`.
///
/// The upper panel shows the training and the validation text in one unit: the negative log-likelihood per token,
/// without label smoothing. Its left scale is the perplexity, the exponential of that, its right one nats. A validation
/// curve that rises while the training curve falls shows over-fitting.
pub(crate) fn curve(table: &str, title: &str, learning_rate: impl Fn(u64) -> f64) -> String {
    let [train, valid] = ["train", "valid"].map(|split| series(table, split, PERPLEXITY));
    let bleu = series(table, "valid", BLEU);
    let all_points = train.iter().chain(&valid).chain(&bleu);
    let last = all_points.map(|point| point.update).fold(1.0, f64::max);
    let rates = rates(last, learning_rate);

    let mut drawing = Drawing::new(last);
    drawing.text(LEFT, 34.0, "title", title);
    drawing.text(RIGHT, 34.0, "end", &format!("after {last} updates"));
    draw_losses(&mut drawing, &train, &valid);

    let scores = Panel::from_zero(440.0, 90.0, values(&bleu));
    drawing.frame(&scores, &with_labels(&ticks(scores.lo, scores.hi, 4)));
    drawing.upwards(16.0, &scores, "BLEU");
    let best = bleu
        .iter()
        .copied()
        .reduce(|a, b| if b.value > a.value { b } else { a });
    let label = best.map(|best| format!("best {:.1} after {}", best.value, best.update));
    drawing.legend(LEFT, scores.top - 14.0, "bleu", "validation BLEU", label);
    drawing.line(&scores, &bleu, "bleu");
    if let Some(best) = best {
        drawing.dot(&scores, best, "bleu best", 5.0);
    }

    let rate = Panel::from_zero(586.0, 70.0, values(&rates));
    drawing.frame(&rate, &with_labels(&ticks(rate.lo, rate.hi, 4)));
    let label = rates.last().map(|point| format!("{:.2e}", point.value));
    drawing.legend(LEFT, rate.top - 14.0, "rate", "learning rate, now", label);
    drawing.line(&rate, &rates, "rate");
    for update in ticks(0.0, last, 8) {
        let x = drawing.x(update);
        drawing.text(x, rate.bottom() + 20.0, "middle", &number(update));
    }
    let middle = f64::midpoint(LEFT, RIGHT);
    drawing.text(middle, rate.bottom() + 42.0, "middle", "update");
    drawing.finish(title)
}

fn draw_losses(drawing: &mut Drawing, train: &[Point], valid: &[Point]) {
    let (train_nats, valid_nats) = (logarithms(train), logarithms(valid));
    let both = values(&train_nats).chain(values(&valid_nats));
    let panel = Panel::around(94.0, 290.0, both, 0.06);
    drawing.frame(&panel, &perplexity_ticks(&panel));
    for nats in ticks(panel.lo, panel.hi, 6) {
        drawing.text(RIGHT + 8.0, panel.y(nats) + 4.5, "", &number(nats));
    }
    drawing.upwards(16.0, &panel, "perplexity");
    drawing.upwards(RIGHT + 46.0, &panel, "loss, nats a token");
    let best = valid_nats
        .iter()
        .copied()
        .reduce(|a, b| if b.value < a.value { b } else { a });
    let y = panel.top - 14.0;
    let label = best.map(|best| lowest_label(valid, best.update));
    let x = drawing.legend(LEFT, y, "valid", "validation", label);
    let label = train.last().map(|point| format!("{:.2}", point.value));
    drawing.legend(x, y, "train", "training, with dropout, now", label);
    drawing.line(&panel, &train_nats, "train");
    drawing.line(&panel, &valid_nats, "valid");
    if let Some(best) = best {
        drawing.dot(&panel, best, "valid best", 5.0);
    }
}

fn rates(last: f64, learning_rate: impl Fn(u64) -> f64) -> Vec<Point> {
    (0..=N_RATES)
        .map(|index| 1.0 + (last - 1.0) * index as f64 / N_RATES as f64)
        .map(|update| Point {
            update,
            value: learning_rate(update.round() as u64),
        })
        .collect()
}

fn series(table: &str, split: &str, metric: &str) -> Vec<Point> {
    let of_metric = rows(table).filter(|it| (it.1, it.2) == (split, metric) && it.3.is_finite());
    let point = |(update, _, _, value)| Point {
        update: update as f64,
        value,
    };
    of_metric.map(point).collect()
}

fn values(points: &[Point]) -> impl Iterator<Item = f64> + Clone {
    points.iter().map(|point| point.value)
}

fn logarithms(points: &[Point]) -> Vec<Point> {
    let positive = points.iter().filter(|point| point.value > 0.0);
    let logarithm = |point: &Point| Point {
        value: point.value.ln(),
        ..*point
    };
    positive.map(logarithm).collect()
}

fn lowest_label(perplexity: &[Point], update: f64) -> String {
    let best = perplexity.iter().find(|point| point.update == update);
    let value = best.map_or(f64::NAN, |best| best.value);
    format!("lowest {value:.2} after {update}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "update,split,metric,value\n10,train,Perplexity,90\n10,valid,Perplexity,100\n10,valid,BLEU,0\n\
                         20,train,Perplexity,25\n20,valid,Perplexity,25\n20,valid,BLEU,12.5\n20,valid,Perplexity,NaN\n";

    #[test]
    fn every_finite_value_of_the_table_is_a_point() {
        let points = series(TABLE, "valid", PERPLEXITY).into_iter();
        let points: Vec<(f64, f64)> = points.map(|point| (point.update, point.value)).collect();
        assert_eq!(points, [(10.0, 100.0), (20.0, 25.0)]);
    }

    #[test]
    fn the_legend_has_the_best_values() {
        let svg = curve(TABLE, "run", |_| 0.001);
        assert!(svg.contains("lowest 25.00 after 20<"), "{svg}");
        assert!(svg.contains("best 12.5 after 20<"), "{svg}");
    }

    #[test]
    fn training_and_validation_with_one_perplexity_are_at_one_height() {
        let svg = curve(TABLE, "run", |_| 0.001);
        let end_of = |class: &str| {
            let line = svg
                .lines()
                .find(|it| it.contains(&format!("line {class}\"")));
            let path = line
                .and_then(|line| line.split('L').nth(1))
                .expect("there is a line");
            path.trim_end_matches("\"/>").to_owned()
        };
        assert_eq!(end_of("train"), end_of("valid"));
    }

    #[test]
    fn every_axis_has_a_name() {
        let svg = curve(TABLE, "run", |_| 0.001);
        for name in ["update", "perplexity", "loss, nats a token", "BLEU"] {
            assert!(svg.contains(&format!(">{name}<")), "{name}: {svg}");
        }
    }

    #[test]
    fn the_title_is_escaped() {
        let svg = curve(TABLE, "<script>&\u{1}", |_| 0.001);
        assert!(svg.contains("&lt;script&gt;&amp;\u{FFFD}"), "{svg}");
        assert!(!svg.contains("<script"), "{svg}");
    }

    #[test]
    fn an_empty_table_gives_an_image_without_lines() {
        let svg = curve("update,split,metric,value\n", "run", |_| 0.0);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(svg.contains("none yet"), "{svg}");
    }
}
