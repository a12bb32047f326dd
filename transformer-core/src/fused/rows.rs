//! Rows of numbers, by blocks.

/// Numbers that are reduced side by side, so that the compiler can hold them in vectors.
const LANES: usize = 16;

/// Numbers of which a thread takes the rows, before it takes the next ones.
pub(super) const BLOCK: usize = 1 << 14;

/// Returns how many numbers the whole rows of a block are.
pub(super) fn block_of_rows(width: usize) -> usize {
    (BLOCK / width).max(1) * width
}

/// Sums what a function makes of the numbers that stand at the same place of all rows; the order of the sums is that
/// of the places, whatever the processor.
#[inline(always)]
pub(super) fn sum<const N: usize>(rows: [&[f32]; N], function: impl Fn([f32; N]) -> f32) -> f32 {
    let chunks = rows.map(|row| row.as_chunks::<LANES>());
    let mut sums = [0.0_f32; LANES];
    for chunk in 0..rows[0].len() / LANES {
        let chunk = chunks.map(|(chunks, _)| &chunks[chunk]);
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum += function(chunk.map(|chunk| chunk[lane]));
        }
    }
    let rests = chunks.map(|(_, rest)| rest);
    let rest = (0..rests[0].len()).map(|place| function(rests.map(|rest| rest[place])));
    sums.iter().sum::<f32>() + rest.sum::<f32>()
}
