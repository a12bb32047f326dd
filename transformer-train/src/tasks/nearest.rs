//! Suggestions for misspelled names.

/// The minimum similarity of a suggestion, between 0 and 1.
const MIN_SIMILARITY: f64 = 0.5;

/// Returns the name that is most similar to a misspelled one, if any is similar.
pub(crate) fn nearest<'a>(
    misspelled: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let similarity = |name| strsim::normalized_damerau_levenshtein(misspelled, name);
    let scored = names.into_iter().map(|name| (similarity(name), name));
    let best = scored.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_name_is_suggested() {
        assert_eq!(
            nearest("warmup", ["seed", "warmup_steps", "updates"]),
            Some("warmup_steps")
        );
    }

    #[test]
    fn without_a_similar_name_there_is_no_suggestion() {
        assert_eq!(nearest("qqq", ["seed", "warmup_steps"]), None);
    }
}
