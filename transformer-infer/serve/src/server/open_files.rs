//! [`raise_limit`]: the number of connections that the operating system allows.

/// Number of files that the process needs besides connections: models, logs, threads.
#[cfg(unix)]
const N_OTHERS: u64 = 128;

/// Raises the limit of open files as far as the operating system allows, and returns the number of connections that fit
/// in it, at most `wanted`.
#[cfg(unix)]
pub(super) fn raise_limit(wanted: usize) -> usize {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};

    let needed = wanted as u64 + N_OTHERS;
    let Ok((current, most)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return wanted;
    };
    let raised = needed.min(most);
    let is_raised = current < needed && setrlimit(Resource::RLIMIT_NOFILE, raised, most).is_ok();
    let allowed = match is_raised {
        true => raised,
        false => current,
    };
    let fitting = allowed.saturating_sub(N_OTHERS).max(1);
    usize::try_from(fitting).map_or(wanted, |fitting| fitting.min(wanted))
}

/// Returns `wanted`, because this system has no such limit.
#[cfg(not(unix))]
pub(super) fn raise_limit(wanted: usize) -> usize {
    wanted
}
