//! [`languages`]: the languages that a request names in place of a model.

use crate::models::Models;

/// Returns the source language, unless it is to be detected, and the target language that a name of a model stands for:
/// both codes with a `-` between them, such as `en-pt-BR` or `auto-de`, or that of the target alone.
pub(super) fn languages<'a>(models: &Models, name: &'a str) -> Option<(Option<&'a str>, &'a str)> {
    let is_known = |code: &str| models.language(code).is_ok();
    // `de-AT` is the German of Austria, not German into another language.
    let is_region = |code: &str| match code.len() {
        2 => code.bytes().all(|it| it.is_ascii_uppercase()),
        3 => code.bytes().all(|it| it.is_ascii_digit()),
        _ => false,
    };
    let is_target = |code: &str| !is_region(code) && is_known(code);
    let hyphens = name.match_indices('-');
    let mut pairs = hyphens.map(|(at, _)| (&name[..at], &name[at + 1..]));
    let pair =
        pairs.find(|(source, target)| (*source == "auto" || is_known(source)) && is_target(target));
    match pair {
        Some(("auto", target)) => Some((None, target)),
        Some((source, target)) => Some((Some(source), target)),
        None => is_known(name).then_some((None, name)),
    }
}
