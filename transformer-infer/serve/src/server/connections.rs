//! [`Connections`]: the open connections, and the other tasks that the server waits for when it stops.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::task::{AbortHandle, Id, JoinSet};

use super::connection::{refuse, serve_connection};
use super::timed_stream::SharedPhase;
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

#[derive(Debug)]
struct Open {
    /// The network of the client; `None` for a trusted proxy, which has many clients.
    network: Option<IpAddr>,
    since: Instant,
    phase: SharedPhase,
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

    /// Serves a connection. If there are too many, closes an idle one; if all are busy, the newest one of the address
    /// with the most, unless it has sent a valid key or a whole request. If none may be closed, or the new one's own
    /// address has as many, refuses the new one.
    pub(super) fn add(&mut self, stream: TcpStream, peer: SocketAddr) {
        let proxies = &self.shared.options.trusted_proxies;
        let is_proxy = proxies.iter().any(|proxy| proxy.contains(peer.ip()));
        let network = (!is_proxy).then(|| network(peer.ip()));
        if self.open.len() >= self.most && !self.close_idle(IDLE_ENOUGH) && !self.close_for(network)
        {
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

    /// Closes a connection that has been idle for `enough` time, of the network with the most connections, and of
    /// those the one that has been idle longest; returns whether there was one.
    fn close_idle(&mut self, enough: Duration) -> bool {
        let counts = self.counts();
        let idle = self.open.iter().filter_map(|(id, open)| {
            let time = open.phase.idle_time().filter(|time| *time >= enough)?;
            let n = open.network.map_or(1, |network| counts[&network]);
            Some(((n, time), *id))
        });
        let chosen = idle.max_by_key(|(rank, _)| *rank);
        self.close(chosen.map(|(_, id)| id))
    }

    /// Closes the newest connection that may be closed of the network with the most, if that one still has as many as
    /// `other` then; returns whether there was one.
    fn close_for(&mut self, other: Option<IpAddr>) -> bool {
        let counts = self.counts();
        let n_of_other = other.and_then(|other| counts.get(&other).copied());
        let closable = self.open.iter().filter_map(|(id, open)| {
            let n = *counts.get(&open.network?)?;
            let is_more = n > n_of_other.unwrap_or(0) + 1;
            (is_more && open.phase.may_close()).then_some(((n, open.since), *id))
        });
        let chosen = closable.max_by_key(|(rank, _)| *rank);
        self.close(chosen.map(|(_, id)| id))
    }

    fn counts(&self) -> HashMap<IpAddr, usize> {
        let mut counts = HashMap::new();
        for network in self.open.values().filter_map(|open| open.network) {
            *counts.entry(network).or_default() += 1;
        }
        counts
    }

    fn close(&mut self, id: Option<Id>) -> bool {
        let closed = id.and_then(|id| self.open.remove(&id));
        if let Some(closed) = &closed {
            closed.handle.abort();
        }
        closed.is_some()
    }

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

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Lets every connection end after its current request, and waits until all have ended.
    pub(super) async fn stop(&mut self) {
        self.stop.send_replace(true);
        while self.next_end().await.is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;
    use crate::config::ServeOptions;

    /// Returns connections from these networks, which serve nothing, and their ids.
    fn connections<const N: usize>(networks: [u8; N]) -> (Connections, [Id; N]) {
        let shared = Shared::new(Arc::new(ServeOptions::default()));
        let shared = Arc::new(shared.expect("the options are right"));
        let mut connections = Connections::new(&shared, Router::new(), N);
        let start = Instant::now();
        let mut age = 0;
        let ids = networks.map(|network| {
            age += 1;
            let open = Open {
                network: Some([127, 0, 0, network].into()),
                since: start + Duration::from_secs(age),
                phase: SharedPhase::new(),
                handle: connections.tasks.spawn(pending()),
            };
            let id = open.handle.id();
            connections.open.insert(id, open);
            id
        });
        (connections, ids)
    }

    #[tokio::test]
    async fn an_idle_connection_of_the_address_with_the_most_is_closed_first() {
        let (mut connections, ids) = connections([1, 2, 2, 3]);
        let _busy = connections.open[&ids[1]].phase.begin();
        assert!(connections.close_idle(Duration::ZERO));
        assert!(!connections.open.contains_key(&ids[2]));
    }

    #[tokio::test]
    async fn the_newest_connection_without_a_key_or_a_whole_request_is_closed() {
        let (mut connections, ids) = connections([2, 2, 2, 2, 2, 3]);
        let phases = ids.map(|id| connections.open[&id].phase.clone());
        let busy = phases.each_ref().map(SharedPhase::begin);
        phases[4].sent_key().set();
        drop(busy[3].body());
        let other = Some([127, 0, 0, 1].into());
        let mut closed = || {
            let is_closed = connections.close_for(other);
            let id = ids.iter().position(|id| !connections.open.contains_key(id));
            id.filter(|_| is_closed)
        };
        assert_eq!(closed(), Some(2));
        assert_eq!(closed(), Some(1));
        assert_eq!(closed(), Some(0));
        assert_eq!(closed(), None);
    }
}
