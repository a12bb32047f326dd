//! [`Connections`]: the open connections, and the other tasks that the server waits for when it stops.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::task::{AbortHandle, Id, JoinSet};

use super::connection::serve_connection;
use super::idle_phase::SharedPhase;
use super::refuse::refuse;
use crate::state::Shared;

/// Maximum number of connections that are refused at a time, each within a second; others are closed at once.
const MAX_REFUSALS: usize = 64;

/// Minimum idle time of a connection that is closed in favor of a new one.
const IDLE_ENOUGH: Duration = Duration::from_secs(1);

/// The open connections, and the other tasks that the server waits for when it stops.
#[derive(Debug)]
pub(super) struct Connections {
    shared: Arc<Shared>,
    router: Router,
    most: usize,
    open: HashMap<Id, Open>,
    refused: Arc<Semaphore>,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

/// An open connection.
#[derive(Debug)]
struct Open {
    phase: SharedPhase,
    /// Closes the connection.
    handle: AbortHandle,
}

/// A connection that counts as long as it is open.
struct Counted(Arc<Shared>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.metrics.connections.dec();
    }
}

impl Connections {
    /// Creates a set of at most `most` connections.
    pub(super) fn new(shared: &Arc<Shared>, router: Router, most: usize) -> Self {
        Self {
            shared: shared.clone(),
            router,
            most,
            open: HashMap::new(),
            refused: Arc::new(Semaphore::new(MAX_REFUSALS)),
            stop: watch::Sender::new(false),
            tasks: JoinSet::new(),
        }
    }

    /// Serves a connection. If there are too many, closes the one that has been idle longest, or refuses the new one if
    /// all are busy.
    pub(super) fn add(&mut self, stream: TcpStream, peer: SocketAddr) {
        if self.open.len() >= self.most && !self.close_idle() {
            self.shared.metrics.refused_connections.inc();
            if let Ok(permit) = self.refused.clone().try_acquire_owned() {
                self.tasks.spawn(async move {
                    refuse(stream).await;
                    drop(permit);
                });
            }
            return;
        }
        self.shared.metrics.connections.inc();
        let counted = Counted(self.shared.clone());
        let limits = self.shared.options.limits.clone();
        let (phase, router) = (SharedPhase::new(), self.router.clone());
        let stopping = self.stop.subscribe();
        let answers = serve_connection(stream, peer, router, limits, phase.clone(), stopping);
        let handle = self.tasks.spawn(async move {
            answers.await;
            drop(counted);
        });
        self.open.insert(handle.id(), Open { phase, handle });
    }

    /// Closes the connection that has been idle longest; returns whether one was idle.
    fn close_idle(&mut self) -> bool {
        let idle = self.open.iter().filter_map(|(id, open)| {
            let time = open.phase.idle_time()?;
            (time >= IDLE_ENOUGH).then_some((time, *id))
        });
        let longest = idle.max_by_key(|(time, _)| *time);
        let closed = longest.and_then(|(_, id)| self.open.remove(&id));
        if let Some(closed) = &closed {
            closed.handle.abort();
        }
        closed.is_some()
    }

    /// Lets a stop wait for a task.
    pub(super) fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// Waits until a connection or a task ends; returns `None` if there are none.
    pub(super) async fn next_end(&mut self) -> Option<()> {
        let ended = self.tasks.join_next_with_id().await?;
        let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
        self.open.remove(&id);
        Some(())
    }

    /// Returns the number of open connections.
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Lets every connection end after its current request, and waits until all have ended.
    pub(super) async fn stop(&mut self) {
        self.stop.send_replace(true);
        while self.next_end().await.is_some() {}
    }
}
