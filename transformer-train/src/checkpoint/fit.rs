//! Checks that the records of a checkpoint fit a model. Burn panics at a record that does not, and trains on without
//! missing moments of Adam.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use burn::module::{Module, ModuleVisitor, Param};
use burn::store::{ModuleRecord, RecordError};
use burn::tensor::{Bytes, Tensor};
use burn_pack::Reader;
use transformer_core::regular_file;

use super::files::{MODEL, OPTIMIZER, SCHEDULER, part_name};
use super::resume_point::ResumePoint;
use crate::error::TrainError;

/// The first tensor of a record that does not fit a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "a field's name says what it holds")]
pub enum Misfit {
    /// A tensor, or its moments, have another shape.
    #[error("`{tensor}` has the shape {found:?} in the file, but {expected:?} in the model")]
    Shape {
        tensor: String,
        found: Vec<usize>,
        expected: Vec<usize>,
    },
    /// The record lacks a parameter.
    #[error("`{tensor}` is missing in the file")]
    Missing { tensor: String },
    /// The record has a tensor that is not a parameter.
    #[error("`{tensor}` in the file is not a parameter of the model")]
    Unknown { tensor: String },
    /// The record of the optimizer lacks moments of a parameter.
    #[error("the moments of `{tensor}` are missing in the file")]
    NoMoments { tensor: String },
    /// A mismatch that Burn reports.
    #[error("{source}")]
    Other { source: RecordError },
}

/// Burn's names of the state of Adam, for each parameter.
const MOMENTS: [&str; 2] = ["momentum.moment_1", "momentum.moment_2"];
const TIME: &str = "momentum.time";

/// The shapes of the tensors of a record, by name.
type Shapes = BTreeMap<String, Vec<usize>>;

impl ResumePoint {
    /// Checks that the records of the checkpoint can be read and fit `template`, a module of the trained architecture.
    pub(crate) fn check_records<M: Module>(
        &self,
        checkpoints: &Path,
        template: &M,
    ) -> Result<(), TrainError> {
        let path = |part| checkpoints.join(part_name(part, self.state.updates));
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

/// Checks that Adam has moments of every parameter that is trained.
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

/// Returns the first difference between the parameters of a module and the tensors of a record.
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

/// A parameter of a module.
struct Parameter {
    /// Its name in a record.
    name: String,
    shape: Vec<usize>,
    id: u64,
    /// True if the parameter is not frozen.
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

/// Collects the parameters of a module.
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
