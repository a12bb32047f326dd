//! Wrong results of backends, and what could not be measured.

use super::figures::{Difference, Figures};

/// Returns the wrong results of all backends.
pub(crate) fn faults(columns: &[Figures]) -> Vec<String> {
    let first = first_that_translates(columns);
    let mut faults = Vec::new();
    for it in columns {
        for (name, difference) in [("logits", it.logits), ("gradients", it.gradients)] {
            let Some(wrong) = difference.filter(|it| !it.is_rounding()) else {
                continue;
            };
            let Difference { found, tolerance } = wrong;
            let wrong = found.map_or("contain NaN".to_owned(), |it| {
                format!("are {it:.0e} from PyTorch's")
            });
            faults.push(format!(
                "{}'s {name} {wrong}, {tolerance:.0e} is tolerated",
                it.backend
            ));
        }
        let other = first.map_or(0, |first| it.translations.len() - n_equal(it, first));
        // With lower precision, the order of two tokens of nearly equal probability may change.
        if let (Some(first), 1.., false) = (first, other, it.is_less_precise()) {
            let (name, first, n) = (&it.backend, &first.backend, it.translations.len());
            faults.push(format!(
                "{name} translates {other} of {n} sentences differently from {first}"
            ));
        }
    }
    faults
}

/// Returns what could not be measured, and why.
pub(crate) fn troubles(columns: &[Figures]) -> Vec<String> {
    let trouble = |it: &Figures| Some(format!("{}: {}", it.backend, it.trouble.as_ref()?));
    columns.iter().filter_map(trouble).collect()
}

/// Returns the column that the translations of others are compared with: the first in single precision, or else the
/// first.
pub(super) fn first_that_translates(columns: &[Figures]) -> Option<&Figures> {
    let columns = columns.iter().filter(|it| !it.translations.is_empty());
    columns.min_by_key(|it| it.is_less_precise())
}

/// Counts the equal translations.
pub(super) fn n_equal(one: &Figures, other: &Figures) -> usize {
    let pairs = one.translations.iter().zip(&other.translations);
    pairs.filter(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(backend: &str, logits: Option<f64>, translation: u32) -> Figures {
        let difference = |found| {
            Some(Difference {
                found,
                tolerance: 1e-5,
            })
        };
        Figures {
            backend: backend.to_owned(),
            logits: difference(logits),
            gradients: difference(Some(1e-6)),
            translations: vec![vec![4, translation]],
            ..Figures::default()
        }
    }

    #[test]
    fn differences_by_rounding_are_not_wrong() {
        let columns = [
            column("flex", Some(1e-7), 5),
            column("tch", Some(9e-7), 5),
            Figures::missing("cuda", "no driver"),
        ];
        assert!(faults(&columns).is_empty());
    }

    #[test]
    fn lower_precision_is_neither_a_reference_for_translations_nor_compared_with_one() {
        let mut cuda = column("cuda", Some(1e-3), 6);
        cuda.logits = cuda.logits.map(|it| Difference {
            tolerance: 5e-3,
            ..it
        });
        let columns = [
            cuda,
            column("wgpu", Some(1e-7), 5),
            column("tch", Some(1e-7), 6),
        ];
        assert_eq!(
            faults(&columns),
            ["tch translates 1 of 1 sentences differently from wgpu"]
        );
    }

    #[test]
    fn every_fault_is_named_with_its_backend() {
        let columns = [
            column("flex", Some(1e-7), 5),
            column("tch", Some(1e-5), 5),
            column("wgpu", None, 6),
        ];
        let expected = [
            "tch's logits are 1e-5 from PyTorch's, 1e-5 is tolerated",
            "wgpu's logits contain NaN, 1e-5 is tolerated",
            "wgpu translates 1 of 1 sentences differently from flex",
        ];
        assert_eq!(faults(&columns), expected);
    }
}
