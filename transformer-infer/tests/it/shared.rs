//! What threads can share: checked by the compiler.

use transformer_infer::document::{ModelLines, Protection, Splitter};
use transformer_infer::scheduler::{Job, JobEvent, JobStream, Scheduler, SchedulerStats, Ticket};
use transformer_infer::search::{Hypothesis, Search};
use transformer_infer::{
    BatchLimits, Glossary, PackedScorer, Scorer, Translation, Translator, TranslatorError,
};

/// Compiles for types that threads can share by reference, and send to each other.
const fn is_shared<T: Send + Sync>() {}

#[test]
fn threads_can_share_translators_and_their_results() {
    is_shared::<Translator>();
    is_shared::<Translation>();
    is_shared::<TranslatorError>();
    is_shared::<Glossary>();
    is_shared::<Search>();
    is_shared::<Hypothesis>();
    is_shared::<BatchLimits>();
    is_shared::<Scorer<'_>>();
}

#[test]
fn threads_can_share_schedulers_and_tickets() {
    is_shared::<Scheduler>();
    is_shared::<Ticket>();
    is_shared::<Job>();
    is_shared::<JobEvent>();
    is_shared::<SchedulerStats>();
    is_shared::<TranslatorError>();
}

#[test]
fn threads_can_share_document_translators() {
    is_shared::<ModelLines<'_>>();
    is_shared::<Protection>();
    is_shared::<Splitter>();
}

#[test]
fn threads_can_share_streams() {
    is_shared::<JobStream>();
}

/// Has one implementation for types that stay on a thread, and two for others, between which the compiler cannot choose.
trait OfThread<Marker> {
    fn stays() {}
}

impl<T: ?Sized> OfThread<()> for T {}

struct Sent;

impl<T: ?Sized + Send> OfThread<Sent> for T {}

#[test]
fn a_packed_scorer_stays_on_the_thread_that_made_it() {
    <PackedScorer<'_> as OfThread<_>>::stays();
}
