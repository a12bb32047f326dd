//! The vector instructions that kernels compute with.

use pulp::Arch;

#[cfg(test)]
pub(crate) use tests::with_each_instruction_set;

/// Returns the instruction set with the widest vectors of the processor; in a test, the one that
/// `with_each_instruction_set` chose.
#[inline(always)]
pub(crate) fn instruction_set() -> Arch {
    #[cfg(test)]
    if let Some(arch) = tests::CHOSEN.get() {
        tests::N_CALLS.set(tests::N_CALLS.get() + 1);
        return arch;
    }
    Arch::new()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// The instruction set for kernels that this thread calls.
        pub(super) static CHOSEN: Cell<Option<Arch>> = const { Cell::new(None) };
        /// Number of kernels that were called since it was chosen.
        pub(super) static N_CALLS: Cell<usize> = const { Cell::new(0) };
    }

    /// Computes with every instruction set of this processor: the scalar one, then those of vectors.
    ///
    /// Without this, tests run only the widest vectors of the machine that they are run on.
    ///
    /// # Panics
    ///
    /// Panics if nothing is dispatched on this thread: then there is nothing to compare.
    pub(crate) fn with_each_instruction_set<T>(compute: impl Fn() -> T) -> (T, Vec<(Arch, T)>) {
        let with = |arch| {
            CHOSEN.set(Some(arch));
            N_CALLS.set(0);
            let computed = compute();
            CHOSEN.set(None);
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
        let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        assert_eq!(found[0].is_some(), has_avx2);
        found.into_iter().flatten()
    }

    /// Returns the instruction set of vectors that this processor has.
    #[cfg(not(target_arch = "x86_64"))]
    fn vectors() -> impl Iterator<Item = Arch> {
        std::iter::once(Arch::new())
    }

    #[test]
    fn kernels_compute_with_the_instruction_set_that_was_chosen() {
        let (scalar, vectors) = with_each_instruction_set(|| format!("{:?}", instruction_set()));
        assert_eq!(scalar, format!("{:?}", Arch::Scalar));
        for (arch, found) in vectors {
            assert_eq!(found, format!("{arch:?}"));
        }
        assert!(CHOSEN.get().is_none());
    }
}
