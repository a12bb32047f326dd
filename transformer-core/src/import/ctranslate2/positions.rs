//! [`recognize`]: the kind of positions in a table.

use super::CTranslate2Error as Error;
use super::container::Variables;
use crate::config::{Positions, Stack};
use crate::model::sinusoid_table;

/// Maximum difference between a stored sinusoid and ours at the first positions, and its growth with the position:
/// converters compute angles in single precision.
const TOLERANCE: [f32; 2] = [1e-5, 2e-6];

/// The positions of a model.
pub(super) struct Recognized {
    pub(super) kind: Positions,
    /// Position of the first token.
    pub(super) first: usize,
    /// Number of learned positions.
    pub(super) max: Option<usize>,
}

/// Returns the kind of positions: sinusoids if the tables of both stacks are near those of one kind, none if they are
/// zeros, and learned positions otherwise. Models without tables have the sinusoids of OpenNMT-tf.
pub(super) fn recognize(variables: &Variables<'_>, d_model: usize) -> Result<Recognized, Error> {
    let names = Stack::BOTH.map(|stack| format!("{stack}/position_encodings/encodings"));
    let tables = match [0, 1].map(|side| variables.get(&names[side])) {
        [None, None] => {
            return Ok(Recognized {
                kind: Positions::SinusoidalHalvesInclusive,
                first: 1,
                max: None,
            });
        }
        [Some(src), Some(tgt)] => [src, tgt],
        [None, _] => return Err(Error::missing(&names[0])),
        [_, None] => return Err(Error::missing(&names[1])),
    };
    let [src, tgt] = tables.map(|table| &table.shape[..]);
    let &[n_rows, width] = tgt else {
        return Err(Error::missing(&names[1]));
    };
    if src != tgt || width != d_model || n_rows == 0 {
        return Err(Error::missing(&names[0]));
    }
    let values = |name: &String| -> Result<Vec<f32>, Error> {
        Ok(variables.tensor(name)?.iter::<f32>().collect())
    };
    let (table, epsilon) = (values(&names[1])?, tables[1].epsilon());
    let is_one = tables[0] == tables[1] || values(&names[0])? == table;
    let learned = Recognized {
        kind: Positions::Learned,
        first: 0,
        max: Some(n_rows),
    };
    if !is_one {
        return Ok(learned);
    }
    if table.iter().all(|value| *value == 0.0) {
        return Ok(Recognized {
            kind: Positions::None,
            first: 0,
            max: None,
        });
    }
    let found = sinusoids(&table, d_model, epsilon);
    Ok(found.map_or(learned, |(kind, first)| Recognized {
        kind,
        first,
        max: None,
    }))
}

/// Returns the kind of sinusoids in a table, and the position of its first row.
fn sinusoids(table: &[f32], d_model: usize, epsilon: f32) -> Option<(Positions, usize)> {
    let n_rows = table.len() / d_model;
    if !d_model.is_multiple_of(2) || n_rows > usize::from(u16::MAX) {
        return None;
    }
    let is_near = |kind: Positions, first: usize, n_rows: usize| {
        let ours = sinusoid_table(kind, first, n_rows, d_model);
        let mut rows = (0..).zip(ours.chunks(d_model).zip(table.chunks(d_model)));
        rows.all(|(row, (ours, theirs)): (u16, _)| {
            let tolerance = TOLERANCE[0] + TOLERANCE[1] * f32::from(row) + epsilon;
            let mut pairs = ours.iter().zip(theirs);
            pairs.all(|(a, b)| (a - b).abs() <= tolerance)
        })
    };
    let kinds = [
        Positions::Sinusoidal,
        Positions::SinusoidalHalves,
        Positions::SinusoidalHalvesInclusive,
    ];
    let mut all = kinds
        .into_iter()
        .flat_map(|kind| [0, 1, 2].map(|first| (kind, first)));
    // A few rows decide most.
    all.find(|&(kind, first)| is_near(kind, first, n_rows.min(3)) && is_near(kind, first, n_rows))
}
