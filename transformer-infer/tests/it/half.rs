//! Devices whose default float type has half precision.

use std::process::Command;

use burn::tensor::{DType, FloatDType};
use transformer_core::TransformerConfig;
use transformer_core::device::Backend;
use transformer_infer::search::Search;
use transformer_infer::{BatchLimits, translate_ids};

use crate::weights::random_model;

/// Set in the process whose device has half precision.
const IN_HALF: &str = "TRANSFORMER_INFER_TEST_IN_HALF";

/// Burn configures a device only before its first tensor, so that the test needs a separate process.
#[test]
fn searches_run_on_a_device_with_half_precision() {
    if std::env::var_os(IN_HALF).is_none() {
        let program = std::env::current_exe().expect("the test runs");
        let name = "half::searches_run_on_a_device_with_half_precision";
        let ran = Command::new(program)
            .args(["--exact", name])
            .env(IN_HALF, "1")
            .output()
            .expect("a program that runs can be run");
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let mut device = Backend::Flex
        .device()
        .expect("tests have the default backend");
    let configured = device.configure(FloatDType::F16);
    configured.expect("no tensor was made before");
    let config = TransformerConfig {
        d_model: 16,
        d_ff: 32,
        ..TransformerConfig::tiny(13, 13)
    };
    let model = random_model(&config, &device, 1);
    assert_eq!(model.output_weight().dtype(), DType::F16);
    let limits = BatchLimits::for_model(&config);
    for search in [Search::greedy(), Search::default()] {
        let found = translate_ids(&model, &[vec![5, 9, 4], vec![7]], &search, &limits);
        assert!(found.iter().flatten().all(|it| it.log_prob.is_finite()));
    }
}
