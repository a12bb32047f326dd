//! [`Connections`]: the open connections, and the other tasks that a stop waits for.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use super::connection::serve_connection;
use super::refuse::refuse;
use crate::serve::state::Shared;

/// Most connections that are refused at a time, each for a second; others end at once.
const MAX_REFUSALS: usize = 64;

/// The open connections, and the other tasks that a stop waits for.
#[derive(Debug)]
pub(super) struct Connections {
    shared: Arc<Shared>,
    router: Router,
    open: Arc<Semaphore>,
    refused: Arc<Semaphore>,
    stop: watch::Sender<bool>,
    pub(super) tasks: JoinSet<()>,
}

/// A connection that is counted as long as it is open.
struct Counted {
    shared: Arc<Shared>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.shared.metrics.connections.dec();
    }
}

impl Connections {
    /// Serves at most `most` connections.
    pub(super) fn new(shared: &Arc<Shared>, router: Router, most: usize) -> Self {
        Self {
            shared: shared.clone(),
            router,
            open: Arc::new(Semaphore::new(most)),
            refused: Arc::new(Semaphore::new(MAX_REFUSALS)),
            stop: watch::Sender::new(false),
            tasks: JoinSet::new(),
        }
    }

    /// Serves a connection, or refuses it.
    pub(super) fn add(&mut self, stream: TcpStream, peer: SocketAddr) {
        let metrics = &self.shared.metrics;
        if let Ok(permit) = self.open.clone().try_acquire_owned() {
            metrics.connections.inc();
            let counted = Counted {
                shared: self.shared.clone(),
                _permit: permit,
            };
            let limits = self.shared.options.limits.clone();
            let stopping = self.stop.subscribe();
            let answers = serve_connection(stream, peer, self.router.clone(), limits, stopping);
            self.tasks.spawn(async move {
                answers.await;
                drop(counted);
            });
            return;
        }
        metrics.refused_connections.inc();
        if let Ok(permit) = self.refused.clone().try_acquire_owned() {
            self.tasks.spawn(async move {
                refuse(stream).await;
                drop(permit);
            });
        }
    }

    /// Lets every connection end after the request that it answers, and waits until all have.
    pub(super) async fn stop(&mut self) {
        self.stop.send_replace(true);
        while self.tasks.join_next().await.is_some() {}
    }
}
