//! The processes of an MPI job (<https://www.mpi-forum.org/docs/>), by the crate `mpi`.

use std::time::Duration;
use std::{env, thread};

use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::environment::{Universe, initialize_with_threading};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Root, Source};

use crate::error::TrainError;

/// Environment variables of launchers, which set at least one of them: Open MPI, PMIx, MPICH and Slurm.
const LAUNCHED: [&str; 4] = ["OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"];

/// Number of elements summed by one call: large enough for the bandwidth of a network, and far below MPI's limit of
/// 2³¹.
const BUCKET: usize = 1 << 20;

/// Time between two checks of a long operation, such as the preparation of the data by another process. MPI itself
/// would use a whole core while it waits.
const PAUSE: Duration = Duration::from_millis(10);

/// MPI in use. Dropping this ends it.
pub(super) struct Link(Universe);

impl Link {
    /// Joins the other processes, if an MPI launcher has started this one.
    pub(super) fn join() -> Result<Option<Self>, TrainError> {
        if LAUNCHED.iter().all(|name| env::var_os(name).is_none()) {
            return Ok(None);
        }
        let (universe, threading) =
            initialize_with_threading(Threading::Serialized).ok_or(TrainError::MpiStarted)?;
        if threading < Threading::Serialized {
            let found = format!("{threading:?}");
            return Err(TrainError::MpiThreads { found });
        }
        Ok(Some(Self(universe)))
    }

    pub(super) fn rank_and_size(&self) -> (usize, usize) {
        let world = self.0.world();
        (world.rank() as usize, world.size() as usize)
    }
}

fn world() -> SimpleCommunicator {
    SimpleCommunicator::world()
}

/// Returns the sums of values over all processes; all of them get the same bits.
pub(super) fn summed(values: &[f32]) -> Vec<f32> {
    let mut sums = vec![0.0; values.len()];
    for (values, sums) in values.chunks(BUCKET).zip(sums.chunks_mut(BUCKET)) {
        world().all_reduce_into(values, sums, SystemOperation::sum());
    }
    sums
}

pub(super) fn sum_f64(values: &mut [f64]) {
    let sent = values.to_vec();
    world().all_reduce_into(&sent[..], values, SystemOperation::sum());
}

pub(super) fn largest(values: &mut [u64]) {
    let sent = values.to_vec();
    world().all_reduce_into(&sent[..], values, SystemOperation::max());
}

/// Waits until every process is here, without using a core meanwhile.
pub(super) fn wait_for_all() {
    let mut waiting = world().immediate_barrier();
    while let Err(still) = waiting.test() {
        waiting = still;
        thread::sleep(PAUSE);
    }
}

/// Returns the bytes of the first process, on every process.
pub(super) fn broadcast(bytes: Vec<u8>) -> Vec<u8> {
    wait_for_all();
    let world = world();
    let first = world.process_at_rank(0);
    let mut len = bytes.len() as u64;
    first.broadcast_into(&mut len);
    let mut bytes = bytes;
    bytes.resize(len as usize, 0);
    first.broadcast_into(&mut bytes[..]);
    bytes
}

/// Sends bytes to the first process, which has to receive them.
pub(super) fn send_to_first(bytes: &[u8]) {
    world().process_at_rank(0).send(bytes);
}

pub(super) fn receive_from(rank: usize) -> Vec<u8> {
    world().process_at_rank(rank as i32).receive_vec::<u8>().0
}

pub(super) fn end_all(exit_code: u8) -> ! {
    world().abort(i32::from(exit_code))
}
