//! The figures as a Markdown table that is also readable in a terminal.

use super::figures::{Difference, Figures, Kind, MemorySample, Spread};
use super::verdict;

/// The cell of a figure that was not measured.
const MISSING: &str = "–";

/// Marks a wrong figure.
const WRONG: &str = "✗";

/// A row: its name, and its cell for a column.
type Row = (&'static str, fn(&Figures) -> Option<String>);

const HARDWARE: [Row; 2] = [
    ("device", |it| it.device.clone()),
    ("threads", |it| it.threads.map(|n| n.to_string())),
];

const TRAINING: [Row; 5] = [
    ("logits, largest difference", |it| it.logits.map(difference)),
    ("gradients, largest difference", |it| {
        it.gradients.map(difference)
    }),
    ("training, target tokens/s", |it| {
        spread(&it.training.as_ref()?.tokens_per_second)
    }),
    ("the same in bf16", |it| {
        spread(&it.training_bf16.as_ref()?.tokens_per_second)
    }),
    ("the same, layers computed twice", |it| {
        spread(&it.training_recomputed.as_ref()?.tokens_per_second)
    }),
];

const REST: [Row; 17] = [
    ("forward and loss, backward, Adam, ms", |it| {
        let parts = it.parts.as_ref()?;
        let all = [&parts.forward_s, &parts.backward_s, &parts.optimizer_s];
        let medians: Option<Vec<Spread>> = all.into_iter().map(|it| Spread::of(it)).collect();
        let medians = medians?.into_iter().map(|it| rounded(1e3 * it.median));
        Some(medians.collect::<Vec<_>>().join(", "))
    }),
    ("greedy, 1 sentence, tokens/s", |it| speed(it, 1, 1)),
    ("beam 4, 1 sentence, tokens/s", |it| speed(it, 1, 4)),
    ("greedy, 32 sentences, tokens/s", |it| speed(it, 32, 1)),
    ("beam 4, 32 sentences, tokens/s", |it| speed(it, 32, 4)),
    ("greedy, 1000 sentences, tokens/s", |it| speed(it, 1000, 1)),
    ("beam 4, 1000 sentences, tokens/s", |it| speed(it, 1000, 4)),
    ("first token, greedy, 1 sentence, ms", |it| {
        first_token(it, 1, 1)
    }),
    ("first token, beam 4, 1 sentence, ms", |it| {
        first_token(it, 1, 4)
    }),
    ("first token, greedy, 32 sentences, ms", |it| {
        first_token(it, 32, 1)
    }),
    ("first token, beam 4, 32 sentences, ms", |it| {
        first_token(it, 32, 4)
    }),
    ("first update, s", |it| it.first_update_s.map(rounded)),
    ("warm-up, s", |it| it.warm_up_s.map(rounded)),
    ("peak memory, MiB", |it| it.peak_memory_mib.map(rounded)),
    ("GPU memory, MiB", |it| it.gpu_memory_mib.map(rounded)),
    ("program, MiB", |it| it.binary_mib.map(rounded)),
    ("build, s", |it| it.build_s.map(rounded)),
];

/// Writes a row for each figure, a column for each backend with figures, and notes about failures below.
pub(super) fn markdown(all: &[Figures]) -> String {
    let groups: [&[Row]; 3] = [&HARDWARE, &TRAINING, &REST];
    let has_some = |it: &&Figures| {
        let mut rows = groups.into_iter().flatten();
        rows.any(|(_, figure)| figure(it).is_some())
    };
    let columns: Vec<&Figures> = all.iter().filter(has_some).collect();
    let names = columns.iter().map(|it| it.backend.clone());
    let mut cells: Vec<Vec<String>> = vec![[String::new()].into_iter().chain(names).collect()];
    let rows_of = |group: &[Row]| -> Vec<Vec<String>> {
        let rows = group.iter();
        rows.filter_map(|(name, figure)| row(name, &columns, figure))
            .collect()
    };
    cells.extend(rows_of(&HARDWARE));
    cells.extend(agreement(&columns));
    cells.extend(rows_of(&TRAINING));
    cells.extend(ratio(&columns));
    cells.extend(rows_of(&REST));
    cells.extend(varied("memory", &columns, |sample| sample.memory_mib));
    cells.extend(varied("GPU memory", &columns, |sample| {
        sample.gpu_memory_mib
    }));
    let notes = notes(all);
    let gap = if notes.is_empty() { "" } else { "\n" };
    format!("{}{gap}{notes}", aligned(&cells))
}

/// Returns a row, unless all its cells are empty.
fn row(
    name: &str,
    columns: &[&Figures],
    figure: impl Fn(&Figures) -> Option<String>,
) -> Option<Vec<String>> {
    let figures: Vec<Option<String>> = columns.iter().map(|it| figure(it)).collect();
    figures.iter().any(Option::is_some).then(|| {
        let figures = figures
            .into_iter()
            .map(|it| it.unwrap_or_else(|| MISSING.to_owned()));
        [name.to_owned()].into_iter().chain(figures).collect()
    })
}

/// Writes rows of cells as an aligned table; the first row is the header.
fn aligned(cells: &[Vec<String>]) -> String {
    let n_columns = cells.first().map_or(0, Vec::len);
    let width_of = |column: usize| cells.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..n_columns).map(|it| width_of(it).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| match column {
            0 => format!(" {cell:<width$} |"),
            _ => format!(" {cell:>width$} |"),
        });
        format!("|{}\n", cells.collect::<String>())
    };
    let rule = widths
        .iter()
        .enumerate()
        .map(|(column, width)| match column {
            0 => format!("{}|", "-".repeat(width + 2)),
            _ => format!("{}:|", "-".repeat(width + 1)),
        });
    let rule = format!("|{}\n", rule.collect::<String>());
    let mut lines: Vec<String> = cells.iter().map(line).collect();
    lines.insert(1, rule);
    lines.concat()
}

/// Lists what went wrong; neighbors with the same reason share a line.
fn notes(all: &[Figures]) -> String {
    let mut notes: Vec<(String, &str)> = Vec::new();
    for figures in all {
        let Some(trouble) = figures.trouble.as_deref() else {
            continue;
        };
        match notes.last_mut().filter(|(_, before)| *before == trouble) {
            Some((names, _)) => *names = format!("{names}, {}", figures.backend),
            None => notes.push((figures.backend.clone(), trouble)),
        }
    }
    notes
        .into_iter()
        .map(|(names, trouble)| format!("- {names}: {trouble}\n"))
        .collect()
}

/// Returns the row with the number of golden sources that are translated as in the reference column.
fn agreement(columns: &[&Figures]) -> Option<Vec<String>> {
    let first = verdict::first_that_translates(columns.iter().copied())?;
    let name = format!("translations as {}'s", first.backend);
    row(&name, columns, |it| {
        let n = it.translations.len();
        let n_equal = verdict::n_equal(it, first);
        match n {
            0 => None,
            _ if n_equal == n => Some(format!("{n_equal} of {n}")),
            _ => Some(format!("{n_equal} of {n} {WRONG}")),
        }
    })
}

/// Returns the row with the ratio of training speed to eager PyTorch on the same kind of hardware: in float32, or in
/// TF32 for a backend that uses it.
fn ratio(columns: &[&Figures]) -> Option<Vec<String>> {
    let median = |it: &Figures| Some(Spread::of(&it.training.as_ref()?.tokens_per_second)?.median);
    let pytorch = |of: &Figures| {
        let name = match of.kind() {
            Kind::Cpu => "pytorch",
            Kind::Gpu if of.is_less_precise() => "pytorch-gpu-tf32",
            Kind::Gpu => "pytorch-gpu",
        };
        median(columns.iter().find(|it| it.backend == name)?)
    };
    row("ratio of training to PyTorch", columns, |it| {
        Some(format!("{:.2}", median(it)? / pytorch(it)?))
    })
}

/// Returns the row with the memory after a quarter, a half, three quarters, and all of the varied updates.
fn varied(
    name: &str,
    columns: &[&Figures],
    memory: fn(&MemorySample) -> Option<f64>,
) -> Option<Vec<String>> {
    let n = columns.iter().find_map(|it| it.n_varied)?;
    let name = format!("{name}, MiB, at quarters of {n} varied updates");
    row(&name, columns, |it| {
        let samples = it.varied.iter();
        let at = |quarter: u64| {
            samples
                .clone()
                .find(|sample| 4 * sample.update >= quarter * n)
        };
        let memory: Vec<String> = (1..=4)
            .filter_map(|quarter| Some(rounded(memory(at(quarter)?)?)))
            .collect();
        (!memory.is_empty()).then(|| memory.join(", "))
    })
}

fn speed(figures: &Figures, batch: u32, beam: u32) -> Option<String> {
    spread(&figures.decoding(batch, beam)?.tokens_per_second)
}

fn first_token(figures: &Figures, batch: u32, beam: u32) -> Option<String> {
    spread(&figures.decoding(batch, beam)?.first_token_ms)
}

/// Writes the median, and the range in brackets.
fn spread(values: &[f64]) -> Option<String> {
    let Spread { min, median, max } = Spread::of(values)?;
    let [min, median, max] = [min, median, max].map(rounded);
    Some(if min == max {
        median
    } else {
        format!("{median} ({min}–{max})")
    })
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
    let found = match difference.found {
        Some(found) => format!("{found:.0e}"),
        None => "NaN".to_owned(),
    };
    if difference.is_rounding() {
        found
    } else {
        format!("{found} {WRONG} (tolerated {:.0e})", difference.tolerance)
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::Training;
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
        let row = agreement(&[&missing, &flex, &tch]).expect("two of them translate");
        assert_eq!(row, ["translations as flex's", "–", "2 of 2", "1 of 2 ✗"]);
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
        let columns: Vec<&Figures> = columns.iter().collect();
        let all = ratio(&columns).expect("PyTorch was measured");
        assert_eq!(all[1..], ["1.50", "0.80", "1.00", "1.00"]);
        let on_cpu = ratio(&columns[..3]).expect("PyTorch was measured on the CPU");
        assert_eq!(on_cpu[1..], ["1.50", "–", "1.00"]);
        assert_eq!(ratio(&columns[..2]), None);
    }

    #[test]
    fn memory_is_listed_at_each_quarter_that_was_reached() {
        let sample = |update| MemorySample {
            update,
            memory_mib: Some(300.0 + update as f64),
            gpu_memory_mib: None,
        };
        let column = |samples: &[u64]| Figures {
            n_varied: Some(20),
            varied: samples.iter().copied().map(sample).collect(),
            ..Figures::default()
        };
        let (whole, half) = (column(&[4, 5, 10, 14, 16, 20]), column(&[4, 6, 10]));
        let row = varied("memory", &[&whole, &half], |sample| sample.memory_mib);
        let expected = [
            "memory, MiB, at quarters of 20 varied updates",
            "305, 310, 316, 320",
            "306, 310",
        ];
        assert_eq!(row.expect("there are samples"), expected);
        assert_eq!(
            varied("GPU memory", &[&whole], |sample| sample.gpu_memory_mib),
            None
        );
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
