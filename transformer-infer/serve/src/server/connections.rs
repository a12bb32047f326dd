//! [`Connections`]: the open connections, and the other tasks that the server waits for when it stops.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::task::{AbortHandle, Id, JoinSet};

use super::connection::serve_connection;
use super::idle_phase::SharedPhase;
use super::refuse::refuse;
use crate::state::{Shared, network};

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
    /// The network of the client; `None` for a trusted proxy, which has many clients.
    network: Option<IpAddr>,
    since: Instant,
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

    /// Serves a connection. If there are too many, closes the one that has been idle longest; if all are busy, the
    /// newest one of the address with the most, or refuses the new one if its own address has as many.
    pub(super) fn add(&mut self, stream: TcpStream, peer: SocketAddr) {
        let proxies = &self.shared.options.trusted_proxies;
        let is_proxy = proxies.iter().any(|proxy| proxy.contains(peer.ip()));
        let network = (!is_proxy).then(|| network(peer.ip()));
        if self.open.len() >= self.most && !self.close_idle() && !self.close_for(network) {
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
        let open = Open {
            network,
            since: Instant::now(),
            phase,
            handle,
        };
        self.open.insert(open.handle.id(), open);
    }

    /// Closes the connection that has been idle longest; returns whether one was idle.
    fn close_idle(&mut self) -> bool {
        let idle = self.open.iter().filter_map(|(id, open)| {
            let time = open.phase.idle_time()?;
            (time >= IDLE_ENOUGH).then_some((time, *id))
        });
        let longest = idle.max_by_key(|(time, _)| *time);
        self.close(longest.map(|(_, id)| id))
    }

    /// Closes the newest connection of the network with the most, if it still has more than another then has; returns
    /// whether it did.
    fn close_for(&mut self, other: Option<IpAddr>) -> bool {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for network in self.open.values().filter_map(|open| open.network) {
            *counts.entry(network).or_default() += 1;
        }
        let n_of_other = other.and_then(|other| counts.get(&other).copied());
        let largest = counts.into_iter().max_by_key(|(_, n)| *n);
        let largest = largest.filter(|(_, n)| *n > n_of_other.unwrap_or(0) + 1);
        let newest = largest.and_then(|(network, _)| {
            let open = self.open.iter();
            let open = open.filter(|(_, open)| open.network == Some(network));
            open.max_by_key(|(_, open)| open.since).map(|(id, _)| *id)
        });
        self.close(newest)
    }

    fn close(&mut self, id: Option<Id>) -> bool {
        let closed = id.and_then(|id| self.open.remove(&id));
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
