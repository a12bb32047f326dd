//! Data parallelism over devices, by Burn's training strategies.
//!
//! Each device computes the gradient of its own micro-batches, divided by the target tokens of the
//! whole update. The sum over devices is the gradient of the update.

use burn::tensor::Device;
use burn::tensor::distributed::{DistributedConfig, ReduceOperation};
use burn_train::{ExecutionStrategy, MultiDeviceOptim};
use transformer_core::device;

/// Returns Burn's strategy for training on `devices`; the first one validates and saves.
///
/// With collective operations (DDP) every device has a copy of the weights and updates it with the summed gradients.
/// Otherwise the first device collects the gradients, updates the weights, and sends them to the others.
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

/// Returns whether the devices sum their gradients by a collective operation (all-reduce).
pub(crate) fn have_collectives(devices: &[Device]) -> bool {
    devices.len() > 1 && devices.iter().all(device::has_collectives)
}
