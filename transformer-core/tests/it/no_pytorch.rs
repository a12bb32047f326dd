//! Builds without the feature `pytorch`.

use std::path::Path;

use transformer_core::import::StateDict;

#[test]
fn a_file_of_torch_save_is_refused_with_the_name_of_the_feature() {
    let path = "tests/fixtures/imports/pytorch.pt";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let message = StateDict::read(path)
        .expect_err("the feature is off")
        .to_string();
    assert!(
        message.contains("was built without the cargo feature `pytorch`"),
        "{message}"
    );
}
