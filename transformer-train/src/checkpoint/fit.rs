//! Loads checkpoints, after checks that their records fit a model, and averages their weights (§6.1). Burn panics at a
//! record that does not fit, and trains on without missing moments of Adam.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use burn::module::{Module, ModuleVisitor, Param};
use burn::store::{ModuleRecord, RecordError};
use burn::tensor::{Bytes, Tensor};
use burn_pack::Reader;
use transformer_core::regular_file;

use super::files::{MODEL, OPTIMIZER, SCHEDULER, part_name};
use super::state::SavedState;
use crate::error::TrainError;
use crate::optim::ema::combine;

/// The first tensor of a record that does not fit a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages and the names of fields say it")]
pub enum Misfit {
    #[error("`{tensor}` has the shape {found:?} in the file, but {expected:?} in the model")]
    Shape {
        tensor: String,
        found: Vec<usize>,
        expected: Vec<usize>,
    },
    #[error("`{tensor}` is missing in the file")]
    Missing { tensor: String },
    #[error("`{tensor}` in the file is not a parameter of the model")]
    Unknown { tensor: String },
    #[error("the moments of `{tensor}` are missing in the file")]
    NoMoments { tensor: String },
    #[error("{source}")]
    Other { source: RecordError },
}

/// Burn's names of the state of Adam, for each parameter.
const MOMENTS: [&str; 2] = ["momentum.moment_1", "momentum.moment_2"];
const TIME: &str = "momentum.time";

type Shapes = BTreeMap<String, Vec<usize>>;

impl SavedState {
    /// Checks that the records of the checkpoint can be read and fit `template`, a module of the trained architecture.
    pub(crate) fn check_records<M: Module>(
        &self,
        checkpoints: &Path,
        template: &M,
    ) -> Result<(), TrainError> {
        let path = |part| checkpoints.join(part_name(part, self.updates));
        let loaded = load(template, &path(MODEL))?;
        check_moments(&loaded, &path(OPTIMIZER))?;
        let scheduler = path(SCHEDULER);
        Reader::from_bytes(read(&scheduler)?).map_err(not_a_record(&scheduler))?;
        Ok(())
    }
}

/// Loads the weights of a checkpoint into a copy of `template`.
pub(super) fn load<M: Module>(template: &M, path: &Path) -> Result<M, TrainError> {
    // From a file, Burn would read each tensor at its first use.
    let bytes = read(path)?;
    let record = ModuleRecord::from_bytes(bytes).map_err(not_a_record(path))?;
    let loaded = template.clone().try_load_record(record);
    loaded.or_else(|source| {
        let reader = Reader::from_bytes(read(path)?).map_err(not_a_record(path))?;
        let stored = shapes(reader).map_err(not_a_record(path))?;
        Err(TrainError::Misfit {
            path: path.to_owned(),
            misfit: model_misfit(template, &stored).unwrap_or(Misfit::Other { source }),
        })
    })
}

fn check_moments<M: Module>(module: &M, path: &Path) -> Result<(), TrainError> {
    let reader = Reader::from_bytes(read(path)?).map_err(not_a_record(path))?;
    let times: BTreeSet<String> = reader.scalars().keys().cloned().collect();
    let stored = shapes(reader).map_err(not_a_record(path))?;
    let parameters = parameters(module).into_iter();
    let trained = parameters.filter(|parameter| parameter.is_trained);
    let mut misfits = trained.filter_map(|parameter| {
        let field = |field: &str| format!("{}.{field}", parameter.id);
        let missing = |tensor| Misfit::NoMoments { tensor };
        if !times.contains(&field(TIME)) {
            return Some(missing(parameter.name));
        }
        let mut moments = MOMENTS.iter();
        moments.find_map(|moment| parameter.misfit(stored.get(&field(moment)), missing))
    });
    misfits.next().map_or(Ok(()), |misfit| {
        Err(TrainError::Misfit {
            path: path.to_owned(),
            misfit,
        })
    })
}

fn model_misfit<M: Module>(module: &M, stored: &Shapes) -> Option<Misfit> {
    let parameters = parameters(module);
    let missing = |tensor| Misfit::Missing { tensor };
    let mut differing = parameters
        .iter()
        .filter_map(|parameter| parameter.misfit(stored.get(&parameter.name), missing));
    let unknown = || {
        let known: BTreeSet<&String> = parameters.iter().map(|it| &it.name).collect();
        let mut unknown = stored.keys().filter(|name| !known.contains(name));
        unknown.next().map(|name| Misfit::Unknown {
            tensor: name.clone(),
        })
    };
    differing.next().or_else(unknown)
}

fn read(path: &Path) -> Result<Bytes, TrainError> {
    let bytes = regular_file::read(path, u64::MAX).map_err(|source| TrainError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    Ok(Bytes::from_bytes_vec(bytes))
}

fn not_a_record<E: Into<RecordError>>(path: &Path) -> impl Fn(E) -> TrainError {
    |source| TrainError::NotARecord {
        path: path.to_owned(),
        source: source.into(),
    }
}

fn shapes(reader: Reader) -> Result<Shapes, burn_pack::Error> {
    let tensors = reader.into_tensors()?.into_iter();
    Ok(tensors
        .map(|tensor| (tensor.name, tensor.shape.to_vec()))
        .collect())
}

struct Parameter {
    name: String,
    shape: Vec<usize>,
    id: u64,
    is_trained: bool,
}

impl Parameter {
    /// Returns the difference of the shape found in a record; `missing` if there is none.
    fn misfit(
        &self,
        found: Option<&Vec<usize>>,
        missing: impl Fn(String) -> Misfit,
    ) -> Option<Misfit> {
        let tensor = self.name.clone();
        match found {
            None => Some(missing(tensor)),
            Some(found) => (*found != self.shape).then(|| Misfit::Shape {
                tensor,
                found: found.clone(),
                expected: self.shape.clone(),
            }),
        }
    }
}

fn parameters<M: Module>(module: &M) -> Vec<Parameter> {
    let mut collector = Collector::default();
    module.visit(&mut collector);
    collector.parameters
}

#[derive(Default)]
struct Collector {
    path: Vec<String>,
    parameters: Vec<Parameter>,
}

impl ModuleVisitor for Collector {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let tensor = param.val();
        self.parameters.push(Parameter {
            name: self.path.join("."),
            shape: tensor.shape().to_vec(),
            id: param.id.val(),
            is_trained: tensor.is_require_grad(),
        });
    }
}

/// Returns the mean of the weights of checkpoints, given by their numbers of updates, of which there is at least one.
///
/// `template` is a module with parameters of the same names. Adapters are merged first, because the mean of products is
/// not the product of means.
pub(crate) fn average<M: Module>(
    checkpoints: &Path,
    updates: &[u64],
    template: &M,
) -> Result<M, TrainError> {
    let load = |n_updates: &u64| {
        let path = checkpoints.join(part_name(MODEL, *n_updates));
        Ok::<M, TrainError>(load(template, &path)?.materialize())
    };
    let (first, others) = updates.split_first().expect("a mean has a checkpoint");
    let mut sum = load(first)?;
    for n_updates in others {
        sum = combine(sum, &load(n_updates)?, |sum, weights| sum + weights);
    }
    let factor = 1.0 / updates.len() as f64;
    Ok(combine(sum.clone(), &sum, |sum, _| sum * factor))
}
