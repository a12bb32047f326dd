//! [`ServerSignal`]: signals to a running server.

use std::io;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// A signal to a running server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerSignal {
    /// Read the API keys and the models again.
    Reload,
    /// Accept no more connections, answer the requests that have arrived, and end; the second time, end at once.
    Stop,
}

/// Returns the signals of the operating system: SIGHUP reloads, SIGTERM and SIGINT stop.
///
/// # Errors
///
/// Returns an error if the operating system refuses a handler.
///
/// # Panics
///
/// Panics outside of a tokio runtime.
#[cfg(unix)]
pub fn os_signals() -> io::Result<UnboundedReceiver<ServerSignal>> {
    use tokio::signal::unix::{SignalKind, signal};

    let (sender, signals) = unbounded_channel();
    for (kind, meaning) in [
        (SignalKind::hangup(), ServerSignal::Reload),
        (SignalKind::terminate(), ServerSignal::Stop),
        (SignalKind::interrupt(), ServerSignal::Stop),
    ] {
        let (mut stream, sender) = (signal(kind)?, sender.clone());
        tokio::spawn(async move {
            while stream.recv().await.is_some() && sender.send(meaning).is_ok() {}
        });
    }
    Ok(signals)
}

/// Returns the signals of the operating system: Ctrl+C stops.
///
/// # Errors
///
/// Never.
///
/// # Panics
///
/// Panics outside of a tokio runtime.
#[cfg(not(unix))]
pub fn os_signals() -> io::Result<UnboundedReceiver<ServerSignal>> {
    let (sender, signals) = unbounded_channel();
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() && sender.send(ServerSignal::Stop).is_ok() {}
    });
    Ok(signals)
}
