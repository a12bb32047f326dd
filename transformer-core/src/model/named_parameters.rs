//! [`named_parameters`]: the values of a module's parameters, by their names in saved files.

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Tensor, TensorData};

/// Returns the name and the values of every parameter, in the order of the module's fields.
pub(crate) fn named_parameters(module: &impl Module) -> Vec<(String, TensorData)> {
    let mut named = Named::default();
    module.visit(&mut named);
    named.found
}

#[derive(Default)]
struct Named {
    path: Vec<String>,
    found: Vec<(String, TensorData)>,
}

impl ModuleVisitor for Named {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let values = param.val().into_data();
        self.found.push((self.path.join("."), values));
    }
}

/// Compares the table of the config with the modules.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::TransformerConfig;
    use crate::config::{Mixing, NormKind, NormPlacement, Place, Positions, Tying};
    use crate::device;

    fn assert_is_in_the_table(config: &TransformerConfig) {
        config.validate().expect("the config is valid");
        let (_, device) = device::choose(None).expect("tests are built with a backend");
        let found = named_parameters(&config.build(&device)).into_iter();
        let found = found.map(|(name, values)| (name, values.shape().to_vec()));
        let table = config.parameters();
        let table = table.map(|(parameter, shape)| (parameter.to_string(), shape));
        assert_eq!(table.collect::<Vec<_>>(), found.collect::<Vec<_>>());
        for (parameter, _) in config.parameters() {
            assert_eq!(Place::named(&parameter.to_string()), Some(parameter));
        }
    }

    /// Sizes that all differ.
    fn rectangular() -> TransformerConfig {
        TransformerConfig {
            d_model: 6,
            d_ff: 10,
            n_heads: 2,
            d_k: Some(4),
            d_v: Some(7),
            n_encoder_layers: 1,
            n_decoder_layers: 3,
            tying: Tying::None,
            ..TransformerConfig::tiny(11, 13)
        }
    }

    #[test]
    fn the_table_of_a_rectangular_model_is_that_of_its_fields() {
        assert_is_in_the_table(&rectangular());
    }

    #[test]
    fn tied_matrices_are_in_the_table_once() {
        assert_is_in_the_table(&TransformerConfig {
            tying: Tying::Decoder,
            ..rectangular()
        });
        assert_is_in_the_table(&TransformerConfig {
            src_vocab_size: 13,
            tying: Tying::All,
            ..rectangular()
        });
    }

    #[test]
    fn positions_and_biases_and_norms_are_in_the_table_where_the_config_has_them() {
        let with_all = TransformerConfig {
            n_encoder_layers: 2,
            n_decoder_layers: 1,
            norm_placement: NormPlacement::Pre,
            final_norm: true,
            positions: Positions::Learned,
            max_positions: 9,
            first_position: 2,
            embedding_norm: true,
            output_bias: true,
            ..rectangular()
        };
        assert_is_in_the_table(&TransformerConfig {
            attention_bias: false,
            norm_kind: NormKind::Rms,
            gated_feed_forward: true,
            ..with_all.clone()
        });
        assert_is_in_the_table(&with_all);
    }

    #[test]
    fn a_recurrence_is_in_the_table_in_place_of_self_attention() {
        for attention_bias in [true, false] {
            assert_is_in_the_table(&TransformerConfig {
                decoder_mixing: Mixing::Ssru,
                attention_bias,
                ..rectangular()
            });
        }
    }

    #[test]
    fn other_names_have_no_place() {
        for name in [
            "output",
            "encoder.layers.0.feed_forward.inner.scales",
            "encoder.layers.0.feed_forward_residual.inner.weight",
            "encoder.layers.00.feed_forward.inner.weight",
            "a.b.c",
            "",
        ] {
            assert_eq!(Place::named(name), None, "{name}");
        }
    }
}
