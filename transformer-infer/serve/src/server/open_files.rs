//! [`raise_limit`]: the number of connections that the operating system allows.

use crate::config::ServeError;

/// Number of files that the process needs besides connections: models, logs, threads.
#[cfg(unix)]
const N_OTHERS: u64 = 128;

/// Minimum number of connections that are worth a server, if so many are wanted.
#[cfg(unix)]
const MIN_CONNECTIONS: u64 = 32;

/// Raises the limit of open files as far as the operating system allows, and returns the number of connections that fit
/// in it, at most `wanted`.
///
/// # Errors
///
/// Returns [`ServeError::OpenFiles`] if hardly any fit.
#[cfg(unix)]
pub(super) fn raise_limit(wanted: usize) -> Result<usize, ServeError> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};

    let needed = wanted as u64 + N_OTHERS;
    let Ok((current, most)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return Ok(wanted);
    };
    let raised = needed.min(most);
    let is_raised = current < needed && setrlimit(Resource::RLIMIT_NOFILE, raised, most).is_ok();
    let allowed = match is_raised {
        true => raised,
        false => current,
    };
    let least = N_OTHERS + MIN_CONNECTIONS.min(wanted as u64);
    if allowed < least {
        return Err(ServeError::OpenFiles {
            allowed,
            needed: least,
        });
    }
    let fitting = usize::try_from(allowed - N_OTHERS);
    Ok(fitting.map_or(wanted, |fitting| fitting.min(wanted)))
}

/// Returns `wanted`, because this system has no such limit.
#[cfg(not(unix))]
pub(super) fn raise_limit(wanted: usize) -> Result<usize, ServeError> {
    Ok(wanted)
}
