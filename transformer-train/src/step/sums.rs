//! The numbers that a step computes, which stay on the device until they are needed.

use std::sync::{Arc, OnceLock};

use burn::tensor::{ExecutionError, Tensor};

use crate::step::LossSums;

/// Holds what a step computes, on the device until it is first needed.
#[derive(Clone, Debug)]
pub(crate) enum Sums {
    Device(Box<DeviceSums>),
    Host(HostSums),
}

/// Holds what a step computes, on the device.
#[derive(Clone, Debug)]
pub(crate) struct DeviceSums {
    losses: LossSums,
    gradient_norm: GradientNorm,
}

/// Holds the norm of an update's gradients, which is known when those of all devices are added up: `[1]`.
pub(crate) type GradientNorm = Arc<OnceLock<Tensor<1>>>;

/// Holds what a step has computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostSums {
    pub(crate) smoothed: f64,
    pub(crate) nll: f64,
    /// Absent where there are no gradients, or it is not known yet.
    pub(crate) gradient_norm: Option<f64>,
}

impl Sums {
    pub(crate) fn new(losses: LossSums, gradient_norm: GradientNorm) -> Self {
        Self::Device(Box::new(DeviceSums {
            losses,
            gradient_norm,
        }))
    }

    /// Reads everything at once.
    pub(crate) fn read(self) -> Result<Self, ExecutionError> {
        match self {
            Self::Device(sums) => {
                let DeviceSums {
                    losses: LossSums { smoothed, nll },
                    gradient_norm,
                } = *sums;
                let device = smoothed.device();
                let gradient_norm = gradient_norm.get().cloned();
                let gradient_norm = gradient_norm.map(|norm| norm.to_device(&device));
                let tensors = [smoothed, nll].into_iter().chain(gradient_norm);
                let data = Tensor::cat(tensors.collect(), 0).try_into_data()?;
                let mut values = data.iter::<f64>();
                let mut next = || values.next().unwrap_or(f64::NAN);
                Ok(Self::Host(HostSums {
                    smoothed: next(),
                    nll: next(),
                    gradient_norm: values.next(),
                }))
            }
            host @ Self::Host(_) => Ok(host),
        }
    }

    pub(crate) fn values(&self) -> HostSums {
        match self {
            Self::Host(sums) => *sums,
            Self::Device(_) => HostSums {
                smoothed: f64::NAN,
                nll: f64::NAN,
                gradient_norm: None,
            },
        }
    }
}
