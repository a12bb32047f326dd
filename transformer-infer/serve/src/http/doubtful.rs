//! [`doubtful_headers`]: the header about doubtful translations.

use axum::http::{HeaderMap, HeaderValue};
use transformer_documents::Doubtful;

/// The name of the header.
pub(super) const DOUBTFUL: &str = "x-doubtful-translations";

/// Returns the header with the number of doubtful translations of a reply, and their faults, if there are any.
pub(crate) fn doubtful_headers(texts: impl IntoIterator<Item = Doubtful>) -> HeaderMap {
    let Doubtful { n, faults, .. } = texts.into_iter().fold(Doubtful::default(), Doubtful::and);
    let mut headers = HeaderMap::new();
    if n > 0 {
        let value = HeaderValue::from_str(&format!("{n}; {faults}"));
        headers.insert(DOUBTFUL, value.expect("the names of faults are ASCII"));
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use transformer_documents::Protection;

    #[test]
    fn the_header_counts_the_texts_of_a_reply() {
        let protection = Protection::placeholders().with_check(None);
        let text = |source: &str, translation: &str| {
            let mut doubtful = Doubtful::default();
            doubtful.add(1, protection.faults(source, translation));
            doubtful
        };
        let texts = [
            text("Room 7", "Zimmer"),
            text("Cost", "Kosssssss"),
            text("A", "B"),
        ];
        let headers = doubtful_headers(texts);
        assert_eq!(headers[DOUBTFUL], "2; numbers, repetition");
        assert!(doubtful_headers(texts[2..].to_vec()).is_empty());
    }
}
