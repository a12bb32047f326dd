//! Fused multiply-add of vectors, also where WebAssembly has none: attention then has the bits that it has on
//! processors, and so have the integers that activations are rounded to. With the feature `relaxed-simd`, the engine's own
//! is fused.

use pulp::{Arch, Simd, WithSimd};

use crate::instruction_set;

/// Runs a kernel that calls [`mul_add`] or [`add_product`].
#[inline(always)]
pub(super) fn dispatch<K: WithSimd>(kernel: K) -> K::Output {
    dispatch_to(instruction_set(), kernel)
}

/// Like [`dispatch`], with an instruction set.
#[inline(always)]
pub(super) fn dispatch_to<K: WithSimd>(arch: Arch, kernel: K) -> K::Output {
    #[cfg(all(target_family = "wasm", feature = "relaxed-simd"))]
    {
        let _ = arch;
        wasm::dispatch(kernel)
    }
    #[cfg(not(all(target_family = "wasm", feature = "relaxed-simd")))]
    arch.dispatch(kernel)
}

/// Returns `a·b + c` as fast as possible: rounded twice in WebAssembly without `relaxed-simd`.
#[inline(always)]
pub(super) fn add_product<S: Simd>(simd: S, a: S::f32s, b: S::f32s, c: S::f32s) -> S::f32s {
    #[cfg(all(target_family = "wasm", feature = "relaxed-simd"))]
    return mul_add(simd, a, b, c);
    #[cfg(not(all(target_family = "wasm", feature = "relaxed-simd")))]
    simd.mul_add_e_f32s(a, b, c)
}

/// Returns `a·b + c`, rounded once on processors with this instruction, and in WebAssembly.
#[inline(always)]
pub(super) fn mul_add<S: Simd>(simd: S, a: S::f32s, b: S::f32s, c: S::f32s) -> S::f32s {
    #[cfg(target_family = "wasm")]
    if size_of::<S::f32s>() == 16 {
        return bytemuck::cast(wasm::mul_add([a, b, c].map(|it| bytemuck::cast(it))));
    }
    simd.mul_add_e_f32s(a, b, c)
}

#[cfg(all(target_family = "wasm", feature = "relaxed-simd"))]
mod wasm {
    use std::arch::wasm32::{f32x4_relaxed_madd, v128};

    use pulp::WithSimd;
    use pulp::wasm::Simd128;

    /// Runs a kernel. Its calls of [`mul_add`] become one instruction only within a function that has it.
    #[target_feature(enable = "relaxed-simd")]
    pub(super) fn dispatch<K: WithSimd>(kernel: K) -> K::Output {
        kernel.with_simd(Simd128::try_new().expect("the module is compiled with these vectors"))
    }

    /// Returns `a·b + c` of four floats each, rounded once.
    #[inline(always)]
    pub(super) fn mul_add([a, b, c]: [v128; 3]) -> v128 {
        f32x4_relaxed_madd(a, b, c)
    }
}

#[cfg(all(target_family = "wasm", not(feature = "relaxed-simd")))]
mod wasm {
    use std::arch::wasm32::{
        f32x4_demote_f64x2_zero, f64x2_abs, f64x2_add, f64x2_gt, f64x2_lt, f64x2_mul,
        f64x2_promote_low_f32x4, f64x2_splat, f64x2_sub, i64x2_add, i64x2_shuffle, i64x2_splat,
        i64x2_sub, v128, v128_and, v128_or, v128_xor,
    };

    /// Returns `a·b + c` of four floats each, rounded once.
    #[inline(always)]
    pub(super) fn mul_add(operands: [v128; 3]) -> v128 {
        let low = operands.map(|it| f64x2_promote_low_f32x4(it));
        let high = operands.map(|it| f64x2_promote_low_f32x4(i64x2_shuffle::<1, 1>(it, it)));
        let [low, high] = [low, high].map(|it| f32x4_demote_f64x2_zero(round_to_odd(it)));
        i64x2_shuffle::<0, 2>(low, high)
    }

    /// Returns `a·b + c` of numbers with 24 bits, rounded so that a second rounding to 24 bits is that of the exact sum
    /// (Boldo and Melquiond 2008, "Emulation of FMA and correctly rounded sums").
    #[inline(always)]
    fn round_to_odd([a, b, c]: [v128; 3]) -> v128 {
        let product = f64x2_mul(a, b); // exact
        let sum = f64x2_add(product, c);
        let of_c = f64x2_sub(sum, product);
        let of_product = f64x2_sub(sum, of_c);
        let error = f64x2_add(f64x2_sub(product, of_product), f64x2_sub(c, of_c));
        let zero = f64x2_splat(0.0);
        // False for NaN, the error of a sum that is not finite.
        let is_inexact = f64x2_gt(f64x2_abs(error), zero);
        let one = i64x2_splat(1);
        let is_even = i64x2_sub(v128_and(sum, one), one);
        let is_shorter = v128_xor(f64x2_lt(error, zero), f64x2_lt(sum, zero));
        let step = v128_and(v128_or(is_shorter, one), v128_and(is_inexact, is_even));
        i64x2_add(sum, step)
    }
}
