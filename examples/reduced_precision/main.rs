//! Times matrix products with weights of fewer than 32 bits, to see whether a backend is faster with them.
//!
//! ```sh
//! cargo run -p examples --example reduced_precision
//! ```
//!
//! The rows are those of a decoder step: one sentence with a beam of 4, and 32 of them; the matrix is the
//! feed-forward layer's of the paper's base model. `int8` is Burn's quantization of the matrix.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::time::Instant;

use anyhow::Result;
use burn::tensor::quantization::QuantScheme;
use burn::tensor::{DType, Distribution, FloatDType, Tensor};
use transformer_core::device::{self, Backend};

const D_MODEL: usize = 512;
const D_FF: usize = 2048;

/// Number of products that are timed together, and of repetitions; the fastest counts.
const N_PRODUCTS: usize = 50;
const N_ROUNDS: usize = 5;

fn main() -> Result<()> {
    let named = std::env::var("BURN_DEVICE").ok();
    let (backend, device) = device::choose(named.as_deref())?;
    println!(
        "backend {backend}, microseconds a product of [rows, {D_MODEL}] and [{D_MODEL}, {D_FF}]"
    );
    for n_rows in [4, 128] {
        let x = Tensor::<2>::random([n_rows, D_MODEL], Distribution::Default, &device);
        let matrix = Tensor::<2>::random([D_MODEL, D_FF], Distribution::Default, &device);
        let full = time(&x, &matrix);
        println!("{n_rows:4} rows  f32  {full:8.1}");
        for (name, dtype) in [("f16", FloatDType::F16), ("bf16", FloatDType::BF16)] {
            if device.supports_dtype(DType::from(dtype)) {
                let reduced = time(&x.clone().cast(dtype), &matrix.clone().cast(dtype));
                println!(
                    "{n_rows:4} rows  {name:4} {reduced:8.1}  {:.2} times f32",
                    reduced / full
                );
            } else {
                println!("{n_rows:4} rows  {name:4} the backend does not support this type");
            }
        }
        if backend == Backend::Tch {
            continue; // Burn's libtorch backend panics on quantization.
        }
        let integers = matrix.clone().quantize_dynamic(&QuantScheme::default());
        let reduced = time(&x, &integers);
        println!(
            "{n_rows:4} rows  int8 {reduced:8.1}  {:.2} times f32",
            reduced / full
        );
    }
    Ok(())
}

/// Returns the microseconds of a product. Reading a value waits for devices that compute asynchronously.
fn time(x: &Tensor<2>, matrix: &Tensor<2>) -> f64 {
    let round = |_| {
        let started = Instant::now();
        for _ in 0..N_PRODUCTS {
            let product = x.clone().matmul(matrix.clone());
            let _ = product.narrow(0, 0, 1).narrow(1, 0, 1).into_data();
        }
        started.elapsed().as_secs_f64() * 1e6 / N_PRODUCTS as f64
    };
    (0..=N_ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}
