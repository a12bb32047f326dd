//! [`raise_limit`]: how many connections the system lets the process open.

/// Files that the process needs beside connections: models, logs, threads.
#[cfg(unix)]
const N_OTHERS: u64 = 128;

/// Raises the limit of open files to what the system allows, and returns how many connections fit in it, at most
/// `wanted`.
#[cfg(unix)]
pub(super) fn raise_limit(wanted: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    let needed = wanted as u64 + N_OTHERS;
    let most = limit.maximum.unwrap_or(u64::MAX);
    let current = limit.current.unwrap_or(u64::MAX);
    let raised = Rlimit {
        current: Some(needed.min(most)),
        maximum: limit.maximum,
    };
    let allowed = match current < needed && setrlimit(Resource::Nofile, raised).is_ok() {
        true => needed.min(most),
        false => current,
    };
    let fitting = allowed.saturating_sub(N_OTHERS).max(1);
    usize::try_from(fitting).map_or(wanted, |fitting| fitting.min(wanted))
}

/// Returns `wanted`: this system has no such limit.
#[cfg(not(unix))]
pub(super) fn raise_limit(wanted: usize) -> usize {
    wanted
}
