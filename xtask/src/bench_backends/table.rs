//! The figures as a table in Markdown, which is readable in a terminal as well.

use super::figures::{Figures, Spread};

/// What stands where nothing was measured.
const NOTHING: &str = "–";

/// A row: what it is called, and what it says of a column.
type Row = (&'static str, fn(&Figures) -> Option<String>);

const ROWS: [Row; 14] = [
    ("logits, largest difference", |it| {
        it.logit_difference.map(scientific)
    }),
    ("gradients, largest difference", |it| {
        it.gradient_difference.map(scientific)
    }),
    ("training, target tokens/s", |it| {
        spread(&it.training.as_ref()?.tokens_per_second)
    }),
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
    ("first token, greedy, 1 sentence, ms", |it| {
        first_token(it, 1, 1)
    }),
    ("first token, beam 4, 32 sentences, ms", |it| {
        first_token(it, 32, 4)
    }),
    ("first update, s", |it| it.first_update_s.map(rounded)),
    ("peak memory, MiB", |it| it.peak_memory_mib.map(rounded)),
    ("program, MiB", |it| it.binary_mib.map(rounded)),
    ("build, s", |it| it.build_s.map(rounded)),
];

/// Writes a row for each figure, a column for each backend that has any, and what went wrong below.
pub(super) fn markdown(all: &[Figures]) -> String {
    let has_some = |it: &&Figures| ROWS.iter().any(|(_, figure)| figure(it).is_some());
    let columns: Vec<&Figures> = all.iter().filter(has_some).collect();
    let mut cells: Vec<Vec<String>> = vec![Vec::new()];
    cells[0].push(String::new());
    cells[0].extend(columns.iter().map(|it| it.backend.clone()));
    if let Some(row) = agreement(&columns) {
        cells.push(row);
    }
    for (name, figure) in ROWS {
        let figures: Vec<Option<String>> = columns.iter().map(|it| figure(it)).collect();
        if figures.iter().any(Option::is_some) {
            let figures = figures
                .into_iter()
                .map(|it| it.unwrap_or_else(|| NOTHING.to_owned()));
            cells.push([name.to_owned()].into_iter().chain(figures).collect());
        }
    }
    let width_of = |column: usize| cells.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..=columns.len())
        .map(|it| width_of(it).unwrap_or(0))
        .collect();
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
    let notes = all
        .iter()
        .filter_map(|it| Some((&it.backend, it.trouble.as_ref()?)));
    let notes: String = notes
        .map(|(name, trouble)| format!("- {name}: {trouble}\n"))
        .collect();
    let gap = if notes.is_empty() { "" } else { "\n" };
    let rows: String = cells[1..].iter().map(line).collect();
    format!("{}{rule}{rows}{gap}{notes}", line(&cells[0]))
}

/// Returns the row of how many golden sources are translated as in the first column that has any.
fn agreement(columns: &[&Figures]) -> Option<Vec<String>> {
    let first = columns.iter().find(|it| !it.translations.is_empty())?;
    let count = |it: &&Figures| {
        let pairs = it.translations.iter().zip(&first.translations);
        let n_equal = pairs.filter(|(ours, theirs)| ours == theirs).count();
        match it.translations.len() {
            0 => NOTHING.to_owned(),
            n => format!("{n_equal} of {n}"),
        }
    };
    let name = format!("translations as {}'s", first.backend);
    Some(
        [name]
            .into_iter()
            .chain(columns.iter().map(count))
            .collect(),
    )
}

fn speed(figures: &Figures, batch: u32, beam: u32) -> Option<String> {
    spread(&figures.decoding(batch, beam)?.tokens_per_second)
}

fn first_token(figures: &Figures, batch: u32, beam: u32) -> Option<String> {
    spread(&figures.decoding(batch, beam)?.first_token_ms)
}

/// Writes the median, and in brackets the least and the most.
fn spread(numbers: &[f64]) -> Option<String> {
    let Spread {
        least,
        median,
        most,
    } = Spread::of(numbers)?;
    let [least, median, most] = [least, median, most].map(rounded);
    Some(if least == most {
        median
    } else {
        format!("{median} ({least}–{most})")
    })
}

/// Writes a number with three digits or, if it has more before the point, without a fraction.
pub(super) fn rounded(number: f64) -> String {
    let digits = match number.abs() {
        n if n >= 100.0 => 0,
        n if n >= 10.0 => 1,
        _ => 2,
    };
    format!("{number:.digits$}")
}

fn scientific(number: f64) -> String {
    format!("{number:.0e}")
}

#[cfg(test)]
mod tests {
    use super::super::figures::Training;
    use super::*;

    #[test]
    fn translations_are_compared_with_those_of_the_first_backend() {
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
        assert_eq!(row, ["translations as flex's", "–", "2 of 2", "1 of 2"]);
    }

    #[test]
    fn a_backend_without_figures_says_why_below_the_table() {
        let flex = Figures {
            backend: "flex".to_owned(),
            logit_difference: Some(2.4e-7),
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
}
