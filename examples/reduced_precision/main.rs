//! Times matrix products whose matrix has fewer bits than 32, to see whether a backend gains by computing in them.
//!
//! ```sh
//! cargo run -p examples --example reduced_precision
//! ```
//!
//! Rows are those of a decoder's step: a sentence with a beam of 4, and 32 of them; the matrix is the inner one of
//! the paper's base model. `int8` is Burn's own quantization of the matrix.

#![expect(clippy::print_stdout, reason = "an example shows what comes out")]

use std::time::Instant;

use anyhow::Result;
use burn::tensor::quantization::QuantScheme;
use burn::tensor::{DType, Distribution, FloatDType, Tensor};
use transformer_core::device::{self, Backend};

const D_MODEL: usize = 512;
const D_FF: usize = 2048;

/// Products that are timed together, and how often; the fastest counts.
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
        let whole = time(&x, &matrix);
        println!("{n_rows:4} rows  f32  {whole:8.1}");
        for (name, dtype) in [("f16", FloatDType::F16), ("bf16", FloatDType::BF16)] {
            if device.supports_dtype(DType::from(dtype)) {
                let reduced = time(&x.clone().cast(dtype), &matrix.clone().cast(dtype));
                println!(
                    "{n_rows:4} rows  {name:4} {reduced:8.1}  {:.2} times f32",
                    reduced / whole
                );
            } else {
                println!("{n_rows:4} rows  {name:4} the backend has no such numbers");
            }
        }
        if backend == Backend::Tch {
            continue; // Burn's libtorch backend panics where it should quantize.
        }
        let integers = matrix.clone().quantize_dynamic(&QuantScheme::default());
        let reduced = time(&x, &integers);
        println!(
            "{n_rows:4} rows  int8 {reduced:8.1}  {:.2} times f32",
            reduced / whole
        );
    }
    Ok(())
}

/// Returns the microseconds of a product, and waits for it on devices that answer before they are done.
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
