//! [`Server`]: accepts connections until it is told to stop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use burn::tensor::Device;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::sleep;

use super::connection::serve_connection;
use super::open_files::raise_limit;
use super::refuse::refuse;
use super::router::router;
use super::signals::ServerSignal;
use crate::one_line;
use crate::serve::config::{ServeError, ServeOptions};
use crate::serve::models::{Loader, Models};
use crate::serve::state::Shared;

/// Most connections that are refused at a time, each for a second; others end at once.
const MAX_REFUSALS: usize = 64;

/// How long the server waits after the system refused a connection, for lack of files for example.
const PAUSE: Duration = Duration::from_millis(50);

/// A server that listens, and answers as soon as it [runs](Self::run).
///
/// It is a library's part of the program `transformer-infer serve`: it installs no handler of signals and prints
/// nothing, but logs by the crate `tracing`.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
    router: Router,
    loader: Arc<Loader>,
    max_connections: usize,
}

/// What happens while the server runs.
enum Event {
    Accepted(std::io::Result<(TcpStream, SocketAddr)>),
    Signal(Option<ServerSignal>),
    Loaded(Result<Models, ServeError>),
}

impl Server {
    /// Listens on the address of the options. Models are loaded when the server runs.
    ///
    /// # Errors
    ///
    /// Returns a [`ServeError`] if the address is taken, or if the options or the API keys are wrong.
    pub async fn bind(options: ServeOptions, device: Device) -> Result<Self, ServeError> {
        if options.models.is_empty() {
            return Err(ServeError::NoModel);
        }
        let options = Arc::new(options);
        let shared = Arc::new(Shared::new(options.clone())?);
        let router = router(&shared)?;
        let address = SocketAddr::from((options.host, options.port));
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|source| ServeError::Listen { address, source })?;
        let wanted = options.limits.max_connections.max(1);
        let max_connections = raise_limit(wanted);
        if max_connections < wanted {
            tracing::warn!(
                max_connections,
                "the system's limit of open files (`ulimit -n`) allows fewer connections"
            );
        }
        Ok(Self {
            listener,
            shared,
            router,
            loader: Arc::new(Loader::new(options, device)),
            max_connections,
        })
    }

    /// Returns the address on which the server listens.
    ///
    /// # Errors
    ///
    /// Returns the system's error.
    pub fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Returns the routes, for calls without a connection. They answer [`run`](Self::run)'s way once it has loaded the
    /// models.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// Loads the models and answers requests, until the first [`ServerSignal::Stop`] and the end of what was accepted,
    /// or until the second one.
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
        let (stop, stopping) = watch::channel(false);
        let connections = Arc::new(Semaphore::new(max_connections));
        let refusals = Arc::new(Semaphore::new(MAX_REFUSALS));
        let mut tasks = JoinSet::new();
        let mut loading = JoinSet::new();
        loading.spawn_blocking({
            let loader = loader.clone();
            move || loader.load()
        });
        loop {
            let event = tokio::select! {
                signal = signals.recv() => Event::Signal(signal),
                Some(Ok(loaded)) = loading.join_next() => Event::Loaded(loaded),
                accepted = listener.accept() => Event::Accepted(accepted),
                Some(_) = tasks.join_next() => continue,
            };
            match event {
                Event::Loaded(loaded) => {
                    shared.set_models(loaded?);
                    tracing::info!("ready");
                }
                Event::Signal(Some(ServerSignal::Reload)) => reload(&shared, &loader, &mut tasks),
                Event::Signal(Some(ServerSignal::Stop) | None) => break,
                Event::Accepted(Ok((stream, peer))) => {
                    let (metrics, limits) = (&shared.metrics, &shared.options.limits);
                    if let Ok(permit) = connections.clone().try_acquire_owned() {
                        metrics.connections.inc();
                        let counted = (permit, shared.clone());
                        let answer = serve_connection(
                            stream,
                            peer,
                            router.clone(),
                            limits.clone(),
                            stopping.clone(),
                        );
                        tasks.spawn(async move {
                            let _counted = Counted(counted);
                            answer.await;
                        });
                    } else {
                        metrics.refused_connections.inc();
                        if let Ok(permit) = refusals.clone().try_acquire_owned() {
                            tasks.spawn(async move {
                                refuse(stream).await;
                                drop(permit);
                            });
                        }
                    }
                }
                Event::Accepted(Err(error)) => {
                    tracing::warn!(error = one_line(&error), "a connection was not accepted");
                    sleep(PAUSE).await;
                }
            }
        }
        drop(listener);
        shared.stop();
        tracing::info!(n_connections = tasks.len(), "stopping");
        let _ = stop.send(true);
        tokio::select! {
            () = async { while tasks.join_next().await.is_some() {} } => {}
            Some(_) = signals.recv() => tracing::warn!("stopped with requests unanswered"),
        }
        Ok(())
    }
}

/// A connection that is counted as long as it is open.
struct Counted((OwnedSemaphorePermit, Arc<Shared>));

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.1.metrics.connections.dec();
    }
}

/// Reads keys and models again, beside the requests.
fn reload(shared: &Arc<Shared>, loader: &Arc<Loader>, tasks: &mut JoinSet<()>) {
    let (shared, loader) = (shared.clone(), loader.clone());
    tasks.spawn(async move {
        let work = move || {
            let keys = shared.reload_keys();
            if let Err(error) = &keys {
                tracing::error!(error = one_line(error), "the old API keys hold");
            }
            let Ok(old) = shared.models() else {
                return tracing::warn!("the models are still being loaded");
            };
            let has_failed = match loader.reload(&old) {
                Ok(reloaded) => {
                    shared.set_models(reloaded.models);
                    reloaded.has_failed
                }
                Err(error) => {
                    tracing::error!(error = one_line(&error), "the old models stay");
                    true
                }
            };
            shared.metrics.reloaded(keys.is_ok() && !has_failed);
        };
        let _ = spawn_blocking(work).await;
    });
}
