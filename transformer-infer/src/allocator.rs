//! Memory that is freed and wanted again at once: the system allocator's part in speed.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
use std::num::NonZero;

/// Tells the allocator to keep freed memory for the next allocation; says whether it will.
///
/// The large temporaries of a forward or backward pass are freed and allocated again at every step.
/// glibc by default gives them back to the system each time, and the kernel has to clear their pages
/// anew. A program that computes on the CPU calls this first thing in `main`, and in exchange holds
/// on to the most memory it ever needed. On systems without glibc it does nothing and returns `false`.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(
    unsafe_code,
    reason = "there is no safe way to configure glibc's allocator"
)]
pub fn keep_freed_memory() -> bool {
    const TOP_PAD_BYTES: i32 = 64 << 20;
    let n_cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let settings = [
        // Never map a block on its own: such a block is unmapped when it is freed.
        (libc::M_MMAP_MAX, 0),
        // Never shrink the heap; −1 is the largest threshold.
        (libc::M_TRIM_THRESHOLD, -1),
        // Grow the heap in large steps.
        (libc::M_TOP_PAD, TOP_PAD_BYTES),
        // A heap for each core. With one for all, threads that share an update wait for each other at every
        // block: a sixth to a third of a training step. Blocks over 64 MiB, which only the first thread's heap
        // can hold, go back to the system all the same.
        (libc::M_ARENA_MAX, i32::try_from(n_cores).unwrap_or(1)),
    ];
    // SAFETY: `mallopt` takes two integers, locks the allocator itself, and leaves blocks alone.
    settings
        .iter()
        .all(|(parameter, value)| unsafe { libc::mallopt(*parameter, *value) } == 1)
}

/// Does nothing on this system, and returns `false`: only glibc can be told to keep freed memory.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn keep_freed_memory() -> bool {
    false
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn glibc_accepts_all_settings() {
        assert!(keep_freed_memory());
    }
}
