//! Several devices that share an update: Burn's strategies for them.
//!
//! Each device computes the gradient of its own micro-batches, divided by the target tokens of all, so that
//! the sum over devices is the gradient of the whole update.

use burn::tensor::Device;
use burn::tensor::distributed::{DistributedConfig, ReduceOperation};
use burn_train::{ExecutionStrategy, MultiDeviceOptim};
use transformer_core::device;

/// Returns the strategy for these devices, the first of which validates and saves.
///
/// Where the backend adds up gradients between devices by itself, each device keeps a copy of the weights and
/// updates it alike. Elsewhere the first device is handed the gradients of the others, and they its weights.
pub(crate) fn strategy(devices: &[Device]) -> ExecutionStrategy {
    match devices {
        [device] => ExecutionStrategy::single(device.clone()),
        devices if have_collectives(devices) => {
            let config = DistributedConfig {
                all_reduce_op: ReduceOperation::Sum,
            };
            ExecutionStrategy::ddp(devices.to_vec(), config)
        }
        devices => ExecutionStrategy::multi(devices.to_vec(), MultiDeviceOptim::OptimMainDevice),
    }
}

/// Says whether the devices add up gradients between them by themselves.
pub(crate) fn have_collectives(devices: &[Device]) -> bool {
    devices.len() > 1 && devices.iter().all(device::has_collectives)
}
