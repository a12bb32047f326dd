//! Burn's dashboard, whose keys end a run as an interrupt does.

use burn_train::Interrupter;
use burn_train::renderer::{MetricsRenderer, default_renderer};

/// Starts the dashboard of a run that goes on from a checkpoint, or from none.
///
/// Its key to stop asks `keys` and not Burn's training, which would end within an interval and lose it; and what the
/// dashboard forgets when it is at its end is not the error that a training ended with. Ctrl-C stays what it is
/// without a dashboard.
pub(crate) fn dashboard(keys: &Interrupter, checkpoint: Option<usize>) -> Box<dyn MetricsRenderer> {
    let renderer = default_renderer(keys.clone(), checkpoint);
    hear_interrupts();
    renderer
}

/// Has the terminal turn Ctrl-C into a signal again, which the dashboard, on its own thread, makes a key. Ctrl-Z and
/// Ctrl-\\ stay keys: whoever they stopped could not tidy the terminal up.
#[cfg(unix)]
fn hear_interrupts() {
    use std::fs::File;
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};

    const PAUSE: Duration = Duration::from_millis(2);
    const PATIENCE: Duration = Duration::from_secs(2);
    /// POSIX's `_POSIX_VDISABLE`: no key.
    const NONE: u8 = if cfg!(any(target_os = "linux", target_os = "android")) {
        0
    } else {
        0xFF
    };

    let Ok(terminal) = File::open("/dev/tty") else {
        return; // Nobody can press a key.
    };
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        let Ok(mut modes) = tcgetattr(&terminal) else {
            return;
        };
        if !modes.local_modes.intersects(LocalModes::ICANON) {
            modes.local_modes.insert(LocalModes::ISIG);
            modes.special_codes[SpecialCodeIndex::VSUSP] = NONE;
            modes.special_codes[SpecialCodeIndex::VQUIT] = NONE;
            let _ = tcsetattr(&terminal, OptionalActions::Now, &modes);
            return;
        }
        sleep(PAUSE);
    }
}

#[cfg(not(unix))]
fn hear_interrupts() {}
