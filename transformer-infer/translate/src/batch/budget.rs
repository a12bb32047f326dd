//! Batches within a budget of padded cells.

/// Splits items, in the given order, into batches of at most `budget` cells, padding included.
///
/// Every item of a batch is padded to the widest one, so a batch has `items · widest` cells. Sort the items by width
/// first to reduce padding. An item that is wider than the budget is a batch by itself.
///
/// # Example
///
/// ```
/// use transformer_translate::batches_within;
///
/// let lens = [4_usize, 9, 5, 2];
/// let batches = batches_within(10, [1, 2, 0, 3], |index| lens[index]);
/// assert_eq!(batches, [vec![1], vec![2, 0], vec![3]]);
/// ```
pub fn batches_within(
    budget: usize,
    items: impl IntoIterator<Item = usize>,
    width: impl Fn(usize) -> usize,
) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut widest = 0;
    for item in items {
        let width = width(item);
        match batches.last_mut() {
            Some(batch) if (batch.len() + 1) * widest.max(width) <= budget => {
                batch.push(item);
                widest = widest.max(width);
            }
            _ => {
                batches.push(vec![item]);
                widest = width;
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_growing_width_are_counted_at_the_width_of_the_last() {
        // Two of five cells fill the budget; ten and thirty cells are alone, within the budget or not.
        let widths = [2, 3, 5, 10, 31];
        let batches = batches_within(12, 0..5, |index| widths[index]);
        assert_eq!(batches, [vec![0, 1], vec![2], vec![3], vec![4]]);
    }

    #[test]
    fn an_item_over_the_budget_is_a_batch_of_its_own() {
        assert_eq!(batches_within(0, [1, 0], |index| index), [[1], [0]]);
    }
}
