//! The vector instructions that kernels compute with.

#[cfg(not(target_family = "wasm"))]
use std::cell::Cell;

use pulp::Arch;

#[cfg(not(target_family = "wasm"))]
thread_local! {
    /// The instruction set of [`with_each_instruction_set`], for kernels that this thread calls.
    static CHOSEN: Cell<Option<Arch>> = const { Cell::new(None) };
    /// Number of kernels that were called since it was chosen.
    static N_CALLS: Cell<usize> = const { Cell::new(0) };
}

/// Returns the instruction set with the widest vectors of the processor; in a test, the one that
/// [`with_each_instruction_set`] chose.
#[inline(always)]
pub fn instruction_set() -> Arch {
    // WebAssembly is compiled for one instruction set. A choice would compile the scalar code, too.
    #[cfg(not(target_family = "wasm"))]
    if let Some(arch) = CHOSEN.get() {
        N_CALLS.set(N_CALLS.get() + 1);
        return arch;
    }
    Arch::new()
}

/// Computes with every instruction set of this processor: the scalar one, then those of vectors. Kernels that other
/// threads call are not affected.
///
/// It is for tests, which without it run only the widest vectors of the machine that they are run on. It is no feature
/// of the package, because tests would then build this package and all above it once more.
///
/// # Panics
///
/// Panics if nothing is dispatched on this thread: then there is nothing to compare.
#[cfg(not(target_family = "wasm"))]
pub fn with_each_instruction_set<T>(compute: impl Fn() -> T) -> (T, Vec<(Arch, T)>) {
    struct Reset;

    impl Drop for Reset {
        fn drop(&mut self) {
            CHOSEN.set(None);
        }
    }

    let with = |arch| {
        let _reset = Reset;
        CHOSEN.set(Some(arch));
        N_CALLS.set(0);
        let computed = compute();
        assert!(N_CALLS.get() > 0, "{arch:?}: no kernel was called");
        computed
    };
    let scalar = with(Arch::Scalar);
    (scalar, vectors().map(|arch| (arch, with(arch))).collect())
}

/// Returns the instruction sets of vectors that this processor has.
///
/// Names `Arch::V3` and `Arch::V4`: without pulp's feature `x86-v3`, a processor with AVX2 but
/// without AVX-512 would run the scalar code.
#[cfg(target_arch = "x86_64")]
fn vectors() -> impl Iterator<Item = Arch> {
    use pulp::x86::{V3, V4};

    let found = [V3::try_new().map(Arch::V3), V4::try_new().map(Arch::V4)];
    found.into_iter().flatten()
}

/// Returns the instruction set of vectors that this processor has.
#[cfg(not(any(target_arch = "x86_64", target_family = "wasm")))]
fn vectors() -> impl Iterator<Item = Arch> {
    std::iter::once(Arch::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_compute_with_the_instruction_set_that_was_chosen() {
        let (scalar, vectors) = with_each_instruction_set(|| format!("{:?}", instruction_set()));
        assert_eq!(scalar, format!("{:?}", Arch::Scalar));
        for (arch, found) in vectors {
            assert_eq!(found, format!("{arch:?}"));
        }
        assert!(CHOSEN.get().is_none());
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn processors_with_avx2_compute_with_it() {
        let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let computes = vectors().any(|arch| matches!(arch, Arch::V3(_)));
        assert_eq!(computes, has_avx2);
    }
}
