//! [`Server`]: accepts connections until it is stopped; [`ServerSignal`]: signals to a running server.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use burn::tensor::Device;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc::{self, UnboundedReceiver, unbounded_channel};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::sleep;
use transformer_core::text::one_line;

use super::connections::Connections;
use super::router::router;
use crate::config::{ServeError, ServeOptions};
use crate::models::{Loader, Models, Pool};
use crate::state::Shared;

/// Pause after the operating system refused a connection, for lack of files for example.
const PAUSE: Duration = Duration::from_millis(50);

/// Maximum number of connections that wait to be accepted. The system may allow fewer.
const BACKLOG: u32 = 4096;

/// A server that listens, and answers once it [runs](Self::run).
///
/// It is the program `transformer-infer serve` as a library: it installs no signal handlers and prints nothing, but
/// logs through the crate `tracing`.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
    router: Router,
    loader: Arc<Loader>,
    max_connections: usize,
}

enum Event {
    Accepted(std::io::Result<(TcpStream, SocketAddr)>),
    Signal(Option<ServerSignal>),
    Loaded(Result<Models, ServeError>),
}

/// Listens on an address. `TcpListener::bind` lets only 128 connections wait to be accepted, and clients beyond them try
/// again after a second.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // As `TcpListener::bind` does: a server starts again while connections of the last one linger. On Windows the option
    // means something else.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

impl Server {
    /// Listens on the address of the options. The models are loaded later, when the server runs.
    ///
    /// # Errors
    ///
    /// Returns a [`ServeError`] if the address is taken, or if the options or the API keys are wrong.
    pub async fn bind(options: ServeOptions, device: Device) -> Result<Self, ServeError> {
        if options.models.is_empty() && options.models_dir.is_none() {
            return Err(ServeError::NoModel);
        }
        let options = Arc::new(options);
        let shared = Arc::new(Shared::new(options.clone())?);
        let router = router(&shared)?;
        let address = SocketAddr::from((options.host, options.port));
        let listener = listen(address).map_err(|source| ServeError::Listen { address, source })?;
        let wanted = options.limits.max_connections.max(1);
        let max_connections = raise_limit(wanted)?;
        if max_connections < wanted {
            tracing::warn!(
                max_connections,
                "the system's limit of open files (`ulimit -n`) allows fewer connections"
            );
        }
        let pool = Pool::new(options, device, shared.metrics.loads.clone());
        Ok(Self {
            listener,
            shared,
            router,
            loader: Arc::new(Loader::new(pool)),
            max_connections,
        })
    }

    /// Returns the address that the server listens on.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Returns the routes, for calls without a connection. They answer as in [`run`](Self::run) once it has loaded the
    /// models.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// Loads the models and answers requests, until the first [`ServerSignal::Stop`] and the last reply to a request
    /// that has arrived, or until the second one. Translated files, and files that are still being translated, are
    /// discarded: they can no longer be fetched.
    ///
    /// # Errors
    ///
    /// Returns a [`ServeError`] if a model cannot be loaded at the start.
    pub async fn run(
        self,
        mut signals: mpsc::UnboundedReceiver<ServerSignal>,
    ) -> Result<(), ServeError> {
        let Self {
            listener,
            shared,
            router,
            loader,
            max_connections,
        } = self;
        let mut connections = Connections::new(&shared, router, max_connections);
        let mut loading = JoinSet::new();
        loading.spawn_blocking({
            let loader = loader.clone();
            move || loader.load()
        });
        loop {
            let event = tokio::select! {
                signal = signals.recv() => Event::Signal(signal),
                Some(loaded) = loading.join_next() => {
                    Event::Loaded(loaded.unwrap_or(Err(ServeError::Panic)))
                }
                accepted = listener.accept() => Event::Accepted(accepted),
                Some(()) = connections.next_end() => continue,
            };
            match event {
                Event::Loaded(loaded) => {
                    let models = loaded?;
                    tracing::info!(n_models = models.all.len(), "ready");
                    shared.set_models(models);
                }
                Event::Signal(Some(ServerSignal::Reload)) => {
                    connections.spawn(reload(shared.clone(), loader.clone()));
                }
                Event::Signal(Some(ServerSignal::Stop) | None) => break,
                Event::Accepted(Ok((stream, peer))) => connections.add(stream, peer),
                Event::Accepted(Err(error)) => {
                    tracing::warn!(error = one_line(&error), "cannot accept a connection");
                    sleep(PAUSE).await;
                }
            }
        }
        drop(listener);
        shared.stop();
        tracing::info!(n_connections = connections.len(), "stopping");
        tokio::select! {
            () = connections.stop() => {}
            Some(_) = signals.recv() => tracing::warn!("stopped before all requests were answered"),
        }
        let requests = shared.files.pending();
        if !requests.is_empty() {
            tracing::warn!(
                requests = requests.join(" "),
                "gave up documents that were being translated"
            );
        }
        // Threads that translate files may hold the store until the process ends.
        shared.files.remove_folder();
        Ok(())
    }
}

async fn reload(shared: Arc<Shared>, loader: Arc<Loader>) {
    let work = move || {
        let _reloading = loader.lock();
        let keys = shared.reload_keys();
        if let Err(error) = &keys {
            tracing::error!(
                error = one_line(error),
                "cannot reload the API keys; the old ones stay in use"
            );
        }
        let Ok(old) = shared.models() else {
            return tracing::warn!("cannot reload while the models are still loading");
        };
        let has_failed = match loader.reload(&old) {
            Ok(reloaded) => {
                shared.set_models(reloaded.models);
                reloaded.has_failed
            }
            Err(error) => {
                tracing::error!(
                    error = one_line(&error),
                    "cannot reload the models; the old ones stay in use"
                );
                true
            }
        };
        shared.metrics.reloaded(keys.is_ok() && !has_failed);
    };
    let _ = spawn_blocking(work).await;
}

/// Number of files that the process needs besides connections: models, logs, threads.
#[cfg(unix)]
const N_OTHERS: u64 = 128;

/// Minimum number of connections that are worth a server, if so many are wanted.
#[cfg(unix)]
const MIN_CONNECTIONS: u64 = 32;

/// Raises the limit of open files as far as allowed, and returns how many connections fit in it, at most `wanted`.
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

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs::read_to_string;
    use std::net::{Ipv4Addr, TcpStream};

    use super::*;

    #[tokio::test]
    async fn clients_that_connect_at_once_need_not_try_again() {
        let most = read_to_string("/proc/sys/net/core/somaxconn").expect("the system has a limit");
        let most: usize = most.trim().parse().expect("it is a number");
        let listener = listen((Ipv4Addr::LOCALHOST, 0).into()).expect("a port is free");
        let address = listener.local_addr().expect("it listens");
        // Nobody accepts them. A client that the system's queue has no room for tries again after a second.
        let at_most = Duration::from_millis(500);
        let connect = |_| TcpStream::connect_timeout(&address, at_most);
        let clients: Vec<io::Result<TcpStream>> = (0..most.min(200)).map(connect).collect();
        assert!(clients.iter().all(Result::is_ok));
    }
}
