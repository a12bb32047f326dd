//! Finds circles of imports between the files of a crate.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::modules::Arrow;

/// Returns a shortest circle of each group of files that all import each other, directly or not; with each
/// circle comes the size of its group.
pub(super) fn circles(arrows: &[Arrow]) -> Vec<(Vec<&Arrow>, usize)> {
    let mut by_file: BTreeMap<&str, Vec<&Arrow>> = BTreeMap::new();
    for arrow in arrows {
        by_file.entry(&arrow.from).or_default().push(arrow);
    }
    let mut circles: Vec<(Vec<&Arrow>, usize)> = Vec::new();
    let mut grouped: BTreeSet<&str> = BTreeSet::new();
    for &file in by_file.keys() {
        if grouped.contains(file) {
            continue;
        }
        let reached = reached(file, &by_file);
        let reaches_file = |it: &&&str| self::reached(it, &by_file).contains(file);
        let group: Vec<&str> = reached.iter().filter(reaches_file).copied().collect();
        grouped.extend(&group);
        let shortest = group.iter().filter_map(|it| shortest_circle(it, &by_file));
        if let Some(circle) = shortest.min_by_key(Vec::len) {
            circles.push((circle, group.len()));
        }
    }
    circles
}

/// Returns the files that a file imports, directly or not.
fn reached<'a>(file: &str, by_file: &BTreeMap<&'a str, Vec<&'a Arrow>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![file];
    while let Some(file) = waiting.pop() {
        for arrow in by_file.get(file).into_iter().flatten() {
            if reached.insert(arrow.to.as_str()) {
                waiting.push(&arrow.to);
            }
        }
    }
    reached
}

/// Returns the shortest chain of imports from a file back to itself.
fn shortest_circle<'a>(
    file: &str,
    by_file: &BTreeMap<&'a str, Vec<&'a Arrow>>,
) -> Option<Vec<&'a Arrow>> {
    let mut came_by: BTreeMap<&str, &Arrow> = BTreeMap::new();
    let mut waiting = VecDeque::from([file]);
    while let Some(next) = waiting.pop_front() {
        for &arrow in by_file.get(next).into_iter().flatten() {
            if came_by.contains_key(arrow.to.as_str()) {
                continue;
            }
            came_by.insert(&arrow.to, arrow);
            waiting.push_back(&arrow.to);
        }
    }
    let mut circle = vec![*came_by.get(file)?];
    while circle.last()?.from != file {
        circle.push(came_by.get(circle.last()?.from.as_str())?);
    }
    circle.reverse();
    Some(circle)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the circles among imports like `a>b`, each as its files, with the size of its group.
    fn found(arrows: &[&str]) -> Vec<(String, usize)> {
        let arrow = |(line, text): (usize, &&str)| {
            let (from, to) = text.split_once('>').unwrap_or_default();
            Arrow {
                from: from.to_owned(),
                to: to.to_owned(),
                line,
                path: String::new(),
            }
        };
        let arrows: Vec<Arrow> = arrows.iter().enumerate().map(arrow).collect();
        let files = |circle: &[&Arrow]| circle.iter().map(|it| it.from.as_str()).collect();
        let circles = circles(&arrows);
        circles
            .iter()
            .map(|(circle, n)| (files(circle), *n))
            .collect()
    }

    #[test]
    fn imports_in_one_direction_are_no_circle() {
        assert_eq!(found(&["a>b", "a>c", "b>c", "c>d", "a>d"]), []);
    }

    #[test]
    fn two_files_that_import_each_other_are_a_circle() {
        assert_eq!(found(&["a>b", "b>a", "b>c"]), [("ab".to_owned(), 2)]);
    }

    #[test]
    fn the_shortest_circle_of_a_group_is_found() {
        let arrows = ["a>b", "b>c", "c>d", "d>a", "d>c"];
        assert_eq!(found(&arrows), [("cd".to_owned(), 4)]);
    }

    #[test]
    fn each_group_has_its_circle() {
        let arrows = ["a>b", "b>a", "b>c", "c>d", "d>e", "e>c"];
        assert_eq!(
            found(&arrows),
            [("ab".to_owned(), 2), ("cde".to_owned(), 3)]
        );
    }
}
