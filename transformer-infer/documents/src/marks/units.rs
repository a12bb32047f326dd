//! [`Unit`]: the smallest part of a text that markup can enclose; aligns units with their translations, and finds the
//! runs of units that pairs enclose.

use std::ops::Range;

use transformer_protection::kept::positions;
use transformer_text::{Link, is_without_spaces};

use super::sentence::Sentence;
use crate::Protection;

/// A word, a punctuation mark, or a character of a script without spaces; a word with a mark inside is several units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) range: Range<usize>,
    pub(crate) word: Range<usize>,
}

/// Returns the units of a text. Units also end at `cuts`, which are in order.
pub(crate) fn units(text: &str, cuts: &[usize]) -> Vec<Unit> {
    units_with(text, cuts, &[])
}

/// Returns the units of a text, with each of the ordered `wholes` as one unit.
fn units_with(text: &str, cuts: &[usize], wholes: &[Range<usize>]) -> Vec<Unit> {
    let mut units = Vec::new();
    let mut cuts = cuts;
    for word in words_with(text, wholes) {
        let mut start = word.start;
        cuts = &cuts[cuts.partition_point(|cut| *cut <= word.start)..];
        let inside = &cuts[..cuts.partition_point(|cut| *cut < word.end)];
        let inside = inside.iter();
        for end in inside.chain([&word.end]) {
            if start < *end {
                let range = start..*end;
                units.push(Unit {
                    range,
                    word: word.clone(),
                });
                start = *end;
            }
        }
    }
    units
}

fn words_with(text: &str, wholes: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let mut start = 0;
    let add = |all: &mut Vec<Range<usize>>, gap: Range<usize>| {
        let words = words(&text[gap.clone()]).into_iter();
        all.extend(words.map(|it| gap.start + it.start..gap.start + it.end));
    };
    for whole in wholes {
        add(&mut all, start..whole.start);
        all.push(whole.clone());
        start = whole.end;
    }
    add(&mut all, start..text.len());
    all
}

fn words(text: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    // True if a following word character continues the last word.
    let mut goes_on = false;
    let mut characters = text.char_indices().peekable();
    let mut last = ' ';
    while let Some((at, c)) = characters.next() {
        let end = at + c.len_utf8();
        let next = characters.peek().map(|(_, next)| *next);
        let is_word = is_in_word(c) || goes_on && joins(last, c, next);
        last = c;
        if c.is_whitespace() {
            goes_on = false;
        } else if is_word
            && goes_on
            && let Some(word) = words.last_mut()
        {
            word.end = end;
        } else {
            words.push(at..end);
            goes_on = is_word;
        }
    }
    words
}

/// Returns whether a character between two others is part of their word: `don't`, `well-known`, `3.5`.
fn joins(before: char, c: char, after: Option<char>) -> bool {
    let are = |is: fn(char) -> bool| is(before) && after.is_some_and(is);
    match c {
        '\'' | '’' | '-' | '_' | '\u{ad}' | '\u{200c}' | '\u{200d}' => are(char::is_alphanumeric),
        '.' | ',' => are(|c| c.is_ascii_digit()),
        _ => false,
    }
}

fn is_in_word(c: char) -> bool {
    !is_without_spaces(c)
        && (c.is_alphanumeric()
            // Combining marks, and the signs of Indic scripts that are not letters.
            || matches!(c, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{dff}' | '\u{fe00}'..='\u{fe0f}'))
}

/// Returns the units of a sentence, which also end at `cuts`; those of its translation; and, for each of the latter,
/// the unit that it translates. Copied text is one unit, so no tag goes into it. Inventions are not units.
pub(super) fn aligned_units(
    sentence: &Sentence,
    cuts: &[usize],
    translation: &str,
    links: &[Link],
    protection: &Protection,
) -> (Vec<Unit>, Vec<Unit>, Vec<Option<usize>>) {
    let positions = positions(&sentence.text, &sentence.kept, translation);
    let copies = sentence.kept.iter().zip(positions);
    let copies = copies.filter_map(|(item, position)| Some((position?, &item.range)));
    let mut copies: Vec<(Range<usize>, &Range<usize>)> = copies.collect();
    copies.sort_unstable_by_key(|(position, _)| position.start);
    let wholes: Vec<Range<usize>> = copies.iter().map(|it| it.0.clone()).collect();
    let src_units = units_with(&sentence.text, cuts, &sentence.copied);
    let mut tgt_units = units_with(translation, &[], &wholes);
    if sentence.kept.is_empty() && !sentence.taken_out.is_empty() {
        let inventions = protection.inventions(translation);
        tgt_units.retain(|unit| !inventions.iter().any(|it| overlap(it, &unit.range) > 0));
    }
    let (tgt_units, mut aligned) = align(
        (&sentence.text, &src_units),
        (translation, tgt_units),
        links,
        &sentence.copied,
    );
    let with_range =
        |units: &[Unit], range: &Range<usize>| units.iter().position(|unit| unit.range == *range);
    for (position, range) in &copies {
        if let Some(tgt) = with_range(&tgt_units, position) {
            aligned[tgt] = with_range(&src_units, range).or(aligned[tgt]);
        }
    }
    (src_units, tgt_units, aligned)
}

/// Returns the source unit that each unit of the translation translates. If the translation repeats a source word with
/// marks inside, its unit is split like the source's.
fn align(
    (src, src_units): (&str, &[Unit]),
    (tgt, tgt_units): (&str, Vec<Unit>),
    links: &[Link],
    copied: &[Range<usize>],
) -> (Vec<Unit>, Vec<Option<usize>>) {
    let mut units = Vec::with_capacity(tgt_units.len());
    let mut aligned = Vec::with_capacity(tgt_units.len());
    for unit in tgt_units {
        let found = best((src, src_units), (tgt, &unit), links, copied);
        let word = found.map(|index| src_units[index].word.clone());
        let parts = word.filter(|word| src[word.clone()] == tgt[unit.range.clone()]);
        let first = parts.and_then(|word| {
            let first = src_units.iter().position(|it| it.word == word)?;
            (src_units[first].range != word).then_some((first, word))
        });
        let Some((first, word)) = first else {
            units.push(unit);
            aligned.push(found);
            continue;
        };
        let of_word = src_units[first..].iter().take_while(|it| it.word == word);
        for (index, part) in (first..).zip(of_word) {
            let moved = |position: usize| position - word.start + unit.range.start;
            units.push(Unit {
                range: moved(part.range.start)..moved(part.range.end),
                word: unit.word.clone(),
            });
            aligned.push(Some(index));
        }
    }
    (units, aligned)
}

/// Returns the source unit with the most bytes linked to a unit, excluding `copied` units, which only copies translate.
/// Words are aligned to words, and punctuation to the same punctuation: attention between punctuation and words says
/// nothing about meaning.
fn best(
    (src, src_units): (&str, &[Unit]),
    (tgt, unit): (&str, &Unit),
    links: &[Link],
    copied: &[Range<usize>],
) -> Option<usize> {
    let text = &tgt[unit.range.clone()];
    let is_word = has_letters(text);
    let mut votes: Vec<(usize, usize)> = Vec::new();
    for link in links {
        let n_bytes = overlap(&link.tgt, &unit.range);
        if n_bytes == 0 {
            continue;
        }
        let linked = (0..).zip(src_units).filter(|(_, it): &(usize, &Unit)| {
            overlap(&it.range, &link.src) > 0 && !copied.contains(&it.range)
        });
        let text_of = |it: &Unit| &src[it.range.clone()];
        let same = linked.clone().find(|(_, it)| text_of(it) == text);
        // Prefer the longest part of a word.
        let words = linked.clone();
        let words = words.filter(|(_, it)| is_word && has_letters(text_of(it)));
        let similar = || {
            words.min_by_key(|(_, it)| (usize::MAX - overlap(&it.range, &link.src), it.range.start))
        };
        if let Some((index, _)) = same.or_else(similar) {
            match votes.iter_mut().find(|(voted, _)| *voted == index) {
                Some((_, n)) => *n += n_bytes,
                None => votes.push((index, n_bytes)),
            }
        }
    }
    // The first of those with the most.
    let best = votes.into_iter().rev().max_by_key(|(_, n)| *n);
    best.map(|(index, _)| index)
}

fn has_letters(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> usize {
    a.end.min(b.end).saturating_sub(a.start.max(b.start))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The pair with this position among its siblings.
    Pair(usize),
    Outside,
    /// The unit translates no word.
    Nobody,
}

/// Returns the length of the longest prefix with the largest sum above 0. It ends with a 1 and contains no `None`.
pub(crate) fn best_prefix(values: impl Iterator<Item = Option<isize>>) -> usize {
    let (mut sum, mut best, mut len) = (0, 0, 0);
    for (index, value) in values.map_while(|value| value).enumerate() {
        sum += value;
        if value > 0 && sum >= best.max(1) {
            (best, len) = (sum, index + 1);
        }
    }
    len
}

/// Returns the first range with the largest sum. It begins and ends with a 1 and contains no `None`.
pub(crate) fn best_run(values: &[Option<isize>]) -> Option<Range<usize>> {
    let (mut sum, mut start) = (0, 0);
    let mut best: Option<(isize, Range<usize>)> = None;
    for (index, value) in values.iter().enumerate() {
        let Some(value) = value else {
            sum = 0;
            continue;
        };
        if sum <= 0 {
            if *value <= 0 {
                sum = 0;
                continue;
            }
            (sum, start) = (0, index);
        }
        sum += value;
        if *value > 0 && best.as_ref().is_none_or(|(largest, _)| sum > *largest) {
            best = Some((sum, start..index + 1));
        }
    }
    best.map(|(_, run)| run)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts<'a>(text: &'a str, cuts: &[usize]) -> Vec<&'a str> {
        let units = units(text, cuts);
        units.into_iter().map(|unit| &text[unit.range]).collect()
    }

    #[test]
    fn words_and_punctuation_are_units() {
        assert_eq!(
            texts("It isn't 3.5, \"well-known\".", &[]),
            ["It", "isn't", "3.5", ",", "\"", "well-known", "\"", "."]
        );
    }

    #[test]
    fn ideographs_are_units_of_one_character() {
        assert_eq!(texts("犬が2匹。", &[]), ["犬", "が", "2", "匹", "。"]);
    }

    #[test]
    fn marks_split_words() {
        assert_eq!(
            texts("unbelievable dog", &[2, 9, 13]),
            ["un", "believa", "ble", "dog"]
        );
    }

    #[test]
    fn a_repeated_word_is_split_as_its_source() {
        let src = units("Burn's Learner", &[4]);
        let tgt = units("der Burn's", &[]);
        let link = Link {
            src: 0..6,
            tgt: 4..10,
        };
        let (split, aligned) = align(("Burn's Learner", &src), ("der Burn's", tgt), &[link], &[]);
        let split: Vec<_> = split.into_iter().map(|unit| unit.range).collect();
        assert_eq!(
            (split, aligned),
            (vec![0..3, 4..8, 8..10], vec![None, Some(0), Some(1)])
        );
    }

    #[test]
    fn punctuation_is_aligned_to_the_same_punctuation_only() {
        let (src, tgt) = ("a dog.", "ein Hund.");
        let links = [
            Link {
                src: 2..5,
                tgt: 8..9,
            },
            Link {
                src: 2..6,
                tgt: 4..8,
            },
        ];
        let (_, aligned) = align((src, &units(src, &[])), (tgt, units(tgt, &[])), &links, &[]);
        assert_eq!(aligned, [None, Some(1), None]);
    }
}

#[cfg(test)]
mod runs_tests {
    use super::*;

    fn run(values: &[isize]) -> Option<Range<usize>> {
        let values: Vec<_> = values
            .iter()
            .map(|value| (*value < 9).then_some(*value))
            .collect();
        best_run(&values)
    }

    #[test]
    fn the_best_run_has_most_words_of_a_pair_and_fewest_of_others() {
        assert_eq!(run(&[0, 1, 1, -1, -1, -1, 1]), Some(1..3));
        assert_eq!(run(&[1, 0, 1, -1, 1]), Some(0..3));
        assert_eq!(run(&[1, 0, 1, -1, 1, 1]), Some(0..6));
        assert_eq!(run(&[1, 9, 1, 1]), Some(2..4));
        assert_eq!(run(&[0, -1, 9]), None);
    }

    #[test]
    fn the_best_prefix_ends_before_words_of_others() {
        let prefix = |values: &[isize]| best_prefix(values.iter().map(|value| Some(*value)));
        assert_eq!(prefix(&[0, 1, -1, -1, 1]), 2);
        assert_eq!(prefix(&[-1, 1]), 0);
        assert_eq!(prefix(&[1, -1, 1]), 3);
        assert_eq!(best_prefix([Some(1), None, Some(1)].into_iter()), 1);
    }
}
