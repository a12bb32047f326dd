//! What somebody may have meant.

/// Least likeness at which a name is worth suggesting.
const LEAST_LIKENESS: f64 = 0.5;

/// Returns the name that is most like the one given, if any is like it at all.
pub(crate) fn nearest<'a>(
    given: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let likeness = |name| strsim::normalized_damerau_levenshtein(given, name);
    let scored = names.into_iter().map(|name| (likeness(name), name));
    let best = scored.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(likeness, _)| *likeness >= LEAST_LIKENESS)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_alike_name_is_found() {
        assert_eq!(
            nearest("warmup", ["seed", "warmup_steps", "updates"]),
            Some("warmup_steps")
        );
    }

    #[test]
    fn names_unlike_all_others_have_no_neighbor() {
        assert_eq!(nearest("qqq", ["seed", "warmup_steps"]), None);
    }
}
