//! Hints that memory is going to be read.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the hint takes a pointer")
)]

/// Asks the processor to bring a value into its second-level cache; does nothing on processors without this hint.
#[inline(always)]
pub(super) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};

        // SAFETY: every x86-64 processor has the instruction, and it never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T1>((&raw const *value).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
