//! Burn's dashboard. Its stop key ends a run after the current interval, as an interrupt does.

use burn_train::Interrupter;
use burn_train::renderer::{MetricsRenderer, default_renderer};

/// Starts the dashboard, at the resumed checkpoint, if any.
///
/// Its stop key sets `dashboard_stop` instead of stopping Burn's training, which would end within an interval and lose
/// that interval's updates. A separate interrupter also preserves the error of a failed training, because the dashboard
/// resets its own at the end. Ctrl-C works as without a dashboard.
pub(crate) fn dashboard(
    dashboard_stop: &Interrupter,
    checkpoint: Option<usize>,
) -> Box<dyn MetricsRenderer> {
    let renderer = default_renderer(dashboard_stop.clone(), checkpoint);
    enable_ctrl_c();
    renderer
}

/// Makes the terminal send a signal for Ctrl-C again, which the dashboard's thread turns off. Ctrl-Z and Ctrl-\\ stay
/// off: a process that they stop or kill cannot restore the terminal.
#[cfg(unix)]
fn enable_ctrl_c() {
    use std::fs::File;
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};

    const POLL_INTERVAL: Duration = Duration::from_millis(2);
    const TIMEOUT: Duration = Duration::from_secs(2);
    /// POSIX's `_POSIX_VDISABLE`, which assigns no key.
    const DISABLED: u8 = if cfg!(any(target_os = "linux", target_os = "android")) {
        0
    } else {
        0xFF
    };

    let Ok(terminal) = File::open("/dev/tty") else {
        return; // Without a terminal there are no keys.
    };
    let started = Instant::now();
    while started.elapsed() < TIMEOUT {
        let Ok(mut modes) = tcgetattr(&terminal) else {
            return;
        };
        if !modes.local_modes.intersects(LocalModes::ICANON) {
            modes.local_modes.insert(LocalModes::ISIG);
            modes.special_codes[SpecialCodeIndex::VSUSP] = DISABLED;
            modes.special_codes[SpecialCodeIndex::VQUIT] = DISABLED;
            let _ = tcsetattr(&terminal, OptionalActions::Now, &modes);
            return;
        }
        sleep(POLL_INTERVAL);
    }
}

#[cfg(not(unix))]
fn enable_ctrl_c() {}
