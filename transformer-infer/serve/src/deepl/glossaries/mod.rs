//! Glossaries. Those of `/v2` and of `/v3` are the same: `/v2` shows those of one pair of languages.

mod request;
pub(super) mod v2;
pub(super) mod v3;

pub(super) use request::stored;
