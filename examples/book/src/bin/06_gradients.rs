//! Chapter 6: the effect of the residual connection on gradients (§3.1).

use anyhow::Result;
use book::Chart;
use burn::tensor::{Device, Distribution, Tensor};
use transformer_core::config::NormPlacement;
use transformer_core::model::{FeedForward, Residual};
use transformer_core::{TransformerConfig, device};

const DEPTH: usize = 48;
const D_MODEL: usize = 16;

/// The way in which a sub-layer is joined to the previous ones.
#[derive(Clone, Copy)]
enum Joint {
    /// `Sublayer(x)`
    Plain,
    /// `LayerNorm(x + Sublayer(x))`, or its pre-norm form.
    Residual(NormPlacement),
}

/// Returns the norm of the gradient of the output of `depth` sub-layers with respect to their input.
fn gradient(depth: usize, joint: Joint, device: &Device) -> Result<f64> {
    device.seed(5);
    let placement = match joint {
        Joint::Plain => NormPlacement::Post,
        Joint::Residual(placement) => placement,
    };
    let config = TransformerConfig {
        d_model: D_MODEL,
        d_ff: 4 * D_MODEL,
        norm_placement: placement,
        dropout: 0.0,
        ..TransformerConfig::tiny(9, 9)
    };
    let random = || Tensor::<3>::random([1, 8, D_MODEL], Distribution::Normal(0.0, 1.0), device);
    let (input, direction) = (random().require_grad(), random());
    let mut x = input.clone();
    for _ in 0..depth {
        let sublayer = FeedForward::init(&config, device)?;
        x = match joint {
            Joint::Plain => sublayer.forward(x),
            Joint::Residual(_) => {
                Residual::init(&config, device)?.forward(x, |x| sublayer.forward(x))
            }
        };
    }
    let gradients = (x * direction).sum().backward();
    let gradient = input.grad(&gradients).map(|it| it.powf_scalar(2.0).sum().sqrt());
    Ok(gradient.map_or(0.0, |it| f64::from(it.into_scalar::<f32>())))
}

fn main() -> Result<()> {
    let (_, device) = device::choose(Some("flex"))?;
    let device = device.autodiff();
    let joints = [
        ("plain", Joint::Plain),
        ("post-norm", Joint::Residual(NormPlacement::Post)),
        ("pre-norm", Joint::Residual(NormPlacement::Pre)),
    ];
    let mut chart =
        Chart::new("Gradient at the input", "sub-layers", "norm of the gradient").logarithmic();
    for (name, joint) in joints {
        let depths = (0..=DEPTH).step_by(6);
        let curve = depths.map(|depth| Ok((depth as f64, gradient(depth, joint, &device)?)));
        let curve = curve.collect::<Result<Vec<_>>>()?;
        let norms: String = curve.iter().map(|(_, norm)| format!("{norm:>9.1e}")).collect();
        println!("{name:<10}{norms}");
        chart = chart.line(name, curve);
    }
    chart.save("gradients")
}
