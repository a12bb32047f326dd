//! The figures as a Markdown table that is also readable in a terminal.

use super::figures::{Difference, Figures, MemorySample, Training};
use super::results::{self, Spread};

/// The cell of a figure that was not measured.
const MISSING: &str = "–";

const WRONG: &str = "✗";

/// Writes a row for each figure, a column for each backend with figures, and notes about failures below.
pub(super) fn markdown(all: &[Figures]) -> String {
    let mut rows = rows(all);
    rows.retain(|row| row[1..].iter().any(|cell| cell != MISSING));
    let has_some = |column: &usize| *column == 0 || rows.iter().any(|it| it[*column] != MISSING);
    let columns: Vec<usize> = (0..=all.len()).filter(has_some).collect();
    let names = all.iter().map(|it| it.backend.clone());
    rows.insert(0, [String::new()].into_iter().chain(names).collect());
    let notes = notes(all);
    let gap = if notes.is_empty() { "" } else { "\n" };
    format!("{}{gap}{notes}", aligned(&rows, &columns))
}

fn rows(all: &[Figures]) -> Vec<Vec<String>> {
    let speed = |it: &Option<Training>| spread(&it.as_ref()?.tokens_per_second);
    let mut rows = vec![
        row(all, "device", |it| it.device.clone()),
        row(all, "threads", |it| it.threads.map(|n| n.to_string())),
    ];
    rows.extend(results::first_that_translates(all).map(|first| {
        let name = format!("translations as {}'s", first.backend);
        row(all, &name, |it| agreement(it, first))
    }));
    rows.extend([
        row(all, "logits, largest difference", |it| {
            it.logits.map(difference)
        }),
        row(all, "gradients, largest difference", |it| {
            it.gradients.map(difference)
        }),
        row(all, "training, target tokens/s", |it| speed(&it.training)),
        row(all, "the same in bf16", |it| speed(&it.training_bf16)),
        row(all, "the same, layers computed twice", |it| {
            speed(&it.training_recomputed)
        }),
        row(all, "ratio of training to PyTorch", |it| ratio(it, all)),
        row(all, "forward and loss, backward, Adam, ms", parts),
    ]);
    let names = [
        (1, "1 sentence"),
        (32, "32 sentences"),
        (1000, "1000 sentences"),
    ];
    let cells =
        names.map(|(batch, names)| [(batch, names, 1, "greedy"), (batch, names, 4, "beam 4")]);
    for (batch, sentences, beam, search) in cells.into_iter().flatten() {
        rows.push(row(
            all,
            &format!("{search}, {sentences}, tokens/s"),
            |it| spread(&it.decoding(batch, beam)?.tokens_per_second),
        ));
    }
    for (batch, sentences, beam, search) in cells.into_iter().take(2).flatten() {
        rows.push(row(
            all,
            &format!("first token, {search}, {sentences}, ms"),
            |it| spread(&it.decoding(batch, beam)?.first_token_ms),
        ));
    }
    for (name, number) in NUMBERS {
        rows.push(row(all, name, |it| number(it).map(rounded)));
    }
    if let Some(n) = all.iter().find_map(|it| it.n_varied) {
        let name = |memory| format!("{memory}, MiB, at quarters of {n} varied updates");
        let memory = |it: &Figures| at_quarters(it, n, |sample| sample.memory_mib);
        let gpu_memory = |it: &Figures| at_quarters(it, n, |sample| sample.gpu_memory_mib);
        rows.push(row(all, &name("memory"), memory));
        rows.push(row(all, &name("GPU memory"), gpu_memory));
    }
    rows
}

type Number = (&'static str, fn(&Figures) -> Option<f64>);

const NUMBERS: [Number; 6] = [
    ("first update, s", |it| it.first_update_s),
    ("warm-up, s", |it| it.warm_up_s),
    ("peak memory, MiB", |it| it.peak_memory_mib),
    ("GPU memory, MiB", |it| it.gpu_memory_mib),
    ("program, MiB", |it| it.binary_mib),
    ("build, s", |it| it.build_s),
];

/// Returns a row: its name, and a cell for each column.
fn row(all: &[Figures], name: &str, figure: impl Fn(&Figures) -> Option<String>) -> Vec<String> {
    let cell = |it: &Figures| figure(it).unwrap_or_else(|| MISSING.to_owned());
    let name = [name.to_owned()].into_iter();
    name.chain(all.iter().map(cell)).collect()
}

/// Writes the median milliseconds of the parts of an update.
fn parts(it: &Figures) -> Option<String> {
    let parts = it.parts.as_ref()?;
    let all = [&parts.forward_s, &parts.backward_s, &parts.optimizer_s];
    let medians = all.map(|it| Some(rounded(1e3 * Spread::of(it)?.median)));
    Some(medians.into_iter().collect::<Option<Vec<_>>>()?.join(", "))
}

/// Writes some columns of rows as an aligned table; the first row is the header.
fn aligned(rows: &[Vec<String>], columns: &[usize]) -> String {
    let mut lines = vec!["|".to_owned(); rows.len() + 1];
    for &column in columns {
        let lengths = rows.iter().map(|row| row[column].chars().count());
        let width = lengths.max().unwrap_or(0);
        let (head, rest) = lines.split_at_mut(1);
        head[0] += &format!(" {:>width$} |", rows[0][column]);
        rest[0] += &"-".repeat(width + usize::from(column == 0) + 1);
        rest[0] += if column == 0 { "|" } else { ":|" };
        for (line, row) in rest[1..].iter_mut().zip(&rows[1..]) {
            *line += &match column {
                0 => format!(" {:<width$} |", row[column]),
                _ => format!(" {:>width$} |", row[column]),
            };
        }
    }
    lines.join("\n") + "\n"
}

/// Lists what went wrong; neighbors with the same reason share a line.
fn notes(all: &[Figures]) -> String {
    let troubled: Vec<&Figures> = all.iter().filter(|it| it.trouble.is_some()).collect();
    let shared = troubled.chunk_by(|one, other| one.trouble == other.trouble);
    shared
        .map(|columns| {
            let names: Vec<&str> = columns.iter().map(|it| it.backend.as_str()).collect();
            let trouble = columns[0].trouble.as_deref().unwrap_or_default();
            format!("- {}: {trouble}\n", names.join(", "))
        })
        .collect()
}

/// Writes the number of golden sources that are translated as in another column.
fn agreement(it: &Figures, first: &Figures) -> Option<String> {
    let n = it.translations.len();
    match results::n_equal(it, first) {
        _ if n == 0 => None,
        n_equal if n_equal == n => Some(format!("{n_equal} of {n}")),
        n_equal => Some(format!("{n_equal} of {n} {WRONG}")),
    }
}

/// Writes the ratio of training speed to eager PyTorch on the same kind of hardware: in float32, or in TF32 for a
/// backend that uses it.
fn ratio(it: &Figures, all: &[Figures]) -> Option<String> {
    let median = |it: &Figures| Some(Spread::of(&it.training.as_ref()?.tokens_per_second)?.median);
    let name = match (it.is_on_gpu(), it.is_less_precise()) {
        (false, _) => "pytorch",
        (true, true) => "pytorch-gpu-tf32",
        (true, false) => "pytorch-gpu",
    };
    let pytorch = median(all.iter().find(|it| it.backend == name)?)?;
    Some(format!("{:.2}", median(it)? / pytorch))
}

/// Writes the memory after a quarter, a half, three quarters, and all of `n` varied updates.
fn at_quarters(it: &Figures, n: u64, memory: fn(&MemorySample) -> Option<f64>) -> Option<String> {
    let at = |quarter: u64| it.varied.iter().find(|it| 4 * it.update >= quarter * n);
    let found = (1..=4).filter_map(|quarter| Some(rounded(memory(at(quarter)?)?)));
    let found: Vec<String> = found.collect();
    (!found.is_empty()).then(|| found.join(", "))
}

/// Writes the median, and the range in brackets.
fn spread(values: &[f64]) -> Option<String> {
    let Spread { min, median, max } = Spread::of(values)?;
    let [min, median, max] = [min, median, max].map(rounded);
    let range = if min == max {
        String::new()
    } else {
        format!(" ({min}–{max})")
    };
    Some(median + &range)
}

/// Writes a number with three digits, or all digits before the point if there are more.
pub(super) fn rounded(number: f64) -> String {
    let digits = match number.abs() {
        n if n >= 100.0 => 0,
        n if n >= 10.0 => 1,
        _ => 2,
    };
    format!("{number:.digits$}")
}

/// Writes a difference and, if it is more than rounding, the tolerance.
fn difference(difference: Difference) -> String {
    let found = difference
        .found
        .map_or("NaN".to_owned(), |it| format!("{it:.0e}"));
    match difference.is_rounding() {
        true => found,
        false => format!("{found} {WRONG} (tolerated {:.0e})", difference.tolerance),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translations_are_compared_with_the_first_backend() {
        let column = |backend: &str, translations: &[&[u32]]| Figures {
            backend: backend.to_owned(),
            translations: translations.iter().map(|it| it.to_vec()).collect(),
            ..Figures::default()
        };
        let (flex, tch) = (
            column("flex", &[&[4, 5], &[6]]),
            column("tch", &[&[4, 5], &[7]]),
        );
        let missing = Figures::missing("cuda", "no driver");
        let table = markdown(&[missing, flex, tch]);
        assert!(
            table.contains("| translations as flex's | 2 of 2 | 1 of 2 ✗ |\n"),
            "{table}"
        );
    }

    #[test]
    fn a_backend_without_figures_has_a_note_below_the_table() {
        let flex = Figures {
            backend: "flex".to_owned(),
            logits: Some(Difference {
                found: Some(2.4e-7),
                tolerance: 1e-5,
            }),
            training: Some(Training {
                labels: 1024.0,
                tokens_per_second: vec![5100.4, 4890.0, 5000.0],
            }),
            ..Figures::default()
        };
        let table = markdown(&[flex, Figures::missing("cuda", "no driver")]);
        let expected = "\
|                            |             flex |
|----------------------------|-----------------:|
| logits, largest difference |             2e-7 |
| training, target tokens/s  | 5000 (4890–5100) |

- cuda: no driver
";
        assert_eq!(table, expected);
    }

    #[test]
    fn more_than_rounding_is_marked() {
        let written = |found| {
            difference(Difference {
                found,
                tolerance: 1e-5,
            })
        };
        assert_eq!(written(Some(9e-6)), "9e-6");
        assert_eq!(written(Some(3e-3)), "3e-3 ✗ (tolerated 1e-5)");
        assert_eq!(written(None), "NaN ✗ (tolerated 1e-5)");
    }

    fn trains(backend: &str, tokens_per_second: f64) -> Figures {
        Figures {
            backend: backend.to_owned(),
            training: Some(Training {
                labels: 1024.0,
                tokens_per_second: vec![tokens_per_second],
            }),
            ..Figures::default()
        }
    }

    #[test]
    fn training_is_compared_with_pytorch_on_the_same_hardware() {
        let columns = [
            trains("flex", 300.0),
            trains("cuda", 4000.0),
            trains("pytorch", 200.0),
            trains("pytorch-gpu", 5000.0),
        ];
        let ratios = |columns: &[Figures]| -> Vec<Option<String>> {
            columns.iter().map(|it| ratio(it, columns)).collect()
        };
        let written = |ratios: &[&str]| -> Vec<Option<String>> {
            let some = |it: &&str| Some((*it).to_owned()).filter(|it| !it.is_empty());
            ratios.iter().map(some).collect()
        };
        assert_eq!(ratios(&columns), written(&["1.50", "0.80", "1.00", "1.00"]));
        assert_eq!(ratios(&columns[..3]), written(&["1.50", "", "1.00"]));
        assert_eq!(ratios(&columns[..2]), [None, None]);
    }

    #[test]
    fn memory_is_listed_at_each_quarter_that_was_reached() {
        let sample = |update| MemorySample {
            update,
            memory_mib: Some(300.0 + update as f64),
            gpu_memory_mib: None,
        };
        let column = |samples: &[u64]| Figures {
            varied: samples.iter().copied().map(sample).collect(),
            ..Figures::default()
        };
        let (whole, half) = (column(&[4, 5, 10, 14, 16, 20]), column(&[4, 6, 10]));
        let memory = |it| at_quarters(it, 20, |sample| sample.memory_mib);
        assert_eq!(memory(&whole).as_deref(), Some("305, 310, 316, 320"));
        assert_eq!(memory(&half).as_deref(), Some("306, 310"));
        let gpu = at_quarters(&whole, 20, |sample| sample.gpu_memory_mib);
        assert_eq!(gpu, None);
    }

    #[test]
    fn the_same_reason_is_listed_once() {
        let missing = |backend| Figures::missing(backend, "no CUDA");
        let all = [
            missing("pytorch-gpu"),
            missing("ctranslate2-gpu"),
            Figures::missing("rocm", "no driver"),
        ];
        let expected = "- pytorch-gpu, ctranslate2-gpu: no CUDA\n- rocm: no driver\n";
        assert_eq!(notes(&all), expected);
    }
}
