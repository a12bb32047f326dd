//! Tensors as text.

use burn::tensor::Tensor;

/// Returns the elements of a tensor, row by row.
pub fn values<const D: usize>(tensor: &Tensor<D>) -> Vec<f32> {
    tensor.clone().into_data().iter::<f32>().collect()
}

/// Prints a tensor: its name, its shape, and a line of three decimals for each row of its last axis.
pub fn show<const D: usize>(name: &str, tensor: &Tensor<D>) {
    let dims = tensor.dims();
    println!("{name} {dims:?}");
    let width = dims[D - 1];
    for row in values(tensor).chunks(width) {
        println!("{}", row.iter().map(|value| number(*value)).collect::<String>());
    }
}

/// Prints a matrix with the names of its rows and columns, in three decimals.
///
/// # Panics
///
/// Panics if the numbers of names differ from those of rows and columns.
pub fn table(
    name: &str,
    rows: &[impl AsRef<str>],
    columns: &[impl AsRef<str>],
    matrix: &Tensor<2>,
) {
    assert_eq!(matrix.dims(), [rows.len(), columns.len()], "each row and column has a name");
    let margin = rows.iter().map(|row| row.as_ref().chars().count()).max();
    let margin = margin.unwrap_or(0).max(name.chars().count());
    let head: String = columns.iter().map(|it| format!("{:>8}", it.as_ref())).collect();
    println!("{name:margin$}{head}");
    for (row, line) in rows.iter().zip(values(matrix).chunks(columns.len())) {
        let line: String = line.iter().map(|value| number(*value)).collect();
        println!("{:margin$}{line}", row.as_ref());
    }
}

/// Returns a number with three decimals in eight characters; a number that rounds to zero has no sign.
fn number(value: f32) -> String {
    let text = format!("{value:8.3}");
    match text.as_str() {
        "  -0.000" => "   0.000".to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_negative_number_is_a_zero_without_sign() {
        assert_eq!(number(-0.0001), "   0.000");
        assert_eq!(number(-0.1), "  -0.100");
    }
}
