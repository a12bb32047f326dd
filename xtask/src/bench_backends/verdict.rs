//! Wrong results of backends.

use super::figures::{Difference, Figures};

/// Returns the wrong results of all backends.
pub(super) fn faults(columns: &[Figures]) -> Vec<String> {
    let first = first_that_translates(columns);
    let mut faults = Vec::new();
    for it in columns {
        let name = &it.backend;
        for (what, difference) in [("logits", it.logits), ("gradients", it.gradients)] {
            faults.extend(difference.and_then(|it| fault(name, what, it)));
        }
        if let Some(first) = first {
            let (n, n_equal) = (it.translations.len(), n_equal(it, first));
            // With lower precision, the order of two tokens of nearly equal probability may change.
            if n_equal < n && !it.is_less_precise() {
                let other = n - n_equal;
                faults.push(format!(
                    "{name} translates {other} of {n} sentences differently from {}",
                    first.backend
                ));
            }
        }
    }
    faults
}

fn fault(name: &str, what: &str, difference: Difference) -> Option<String> {
    let Difference { found, tolerance } = difference;
    let found = found.map(|found| format!("{name}'s {what} are {found:.0e} from PyTorch's"));
    let found = found.unwrap_or_else(|| format!("{name}'s {what} contain NaN"));
    (!difference.is_rounding()).then(|| format!("{found}, {tolerance:.0e} is tolerated"))
}

/// Returns the column whose translations are the reference: the first in single precision, or else the first.
pub(super) fn first_that_translates<'a>(
    columns: impl IntoIterator<Item = &'a Figures>,
) -> Option<&'a Figures> {
    let columns = columns.into_iter();
    columns
        .filter(|it| !it.translations.is_empty())
        .min_by_key(|it| it.is_less_precise())
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
