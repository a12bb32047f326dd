//! Settings of the system's memory allocator that make training and inference on the CPU faster and smaller.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
use std::num::NonZero;

/// Configures the allocator to reuse freed memory instead of returning it to the system; returns whether that
/// succeeded.
///
/// The large temporary tensors of a forward or backward pass are freed and allocated again at every step. By default
/// glibc returns them to the system each time, and the kernel has to clear their pages again. A program that computes
/// on the CPU should call this before it computes: first in `main`, or after
/// [`return_freed_memory`] and its start. In exchange the process keeps the maximum memory that it ever used. On
/// systems without glibc it does nothing and returns `false`.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn keep_freed_memory() -> bool {
    const TOP_PAD_BYTES: i32 = 64 << 20;
    set(&[
        // Never allocate a block by `mmap`: such a block is unmapped when it is freed.
        (libc::M_MMAP_MAX, 0),
        // Never shrink the heap; −1 is the largest threshold.
        (libc::M_TRIM_THRESHOLD, -1),
        // Grow the heap in large steps.
        (libc::M_TOP_PAD, TOP_PAD_BYTES),
        // One heap per core. With a single heap, the threads of an update wait for each other at every allocation: a
        // sixth to a third of a training step. Blocks over 64 MiB fit only in the first thread's heap, and are returned
        // to the system in any case.
        (libc::M_ARENA_MAX, n_cores()),
    ])
}

/// Configures the allocator to return each freed block of at least 128 KiB to the system; returns whether that
/// succeeded.
///
/// A model is loaded from files to matrices in another layout. By default glibc keeps much of what was freed meanwhile,
/// in heaps of other threads than those that allocate next. A program that loads a model should call this first in
/// `main`. On systems without glibc it does nothing and returns `false`.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn return_freed_memory() -> bool {
    const BLOCK_BYTES: i32 = 128 << 10;
    set(&[
        (libc::M_MMAP_MAX, i32::MAX),
        (libc::M_MMAP_THRESHOLD, BLOCK_BYTES),
        (libc::M_TRIM_THRESHOLD, BLOCK_BYTES),
        (libc::M_ARENA_MAX, n_cores()),
    ])
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn n_cores() -> i32 {
    let n_cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    i32::try_from(n_cores).unwrap_or(1)
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(
    unsafe_code,
    reason = "there is no safe way to configure glibc's allocator"
)]
fn set(settings: &[(i32, i32)]) -> bool {
    // SAFETY: `mallopt` takes two integers, locks the allocator itself, and does not touch allocated blocks.
    let set = |(parameter, value): &(i32, i32)| unsafe { libc::mallopt(*parameter, *value) } == 1;
    settings.iter().all(set)
}

/// Does nothing on this system, and returns `false`: only glibc's allocator has these settings.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn keep_freed_memory() -> bool {
    false
}

/// Does nothing on this system, and returns `false`: only glibc's allocator has these settings.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn return_freed_memory() -> bool {
    false
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn glibc_accepts_all_settings() {
        assert!(return_freed_memory() && keep_freed_memory());
    }
}
