//! [`Document`]: a document that is translated into a file, with what holds for every one.

use std::fs;

use anyhow::{Result, ensure};

use super::call::Ended;
use super::case::Case;
use super::document_checks::check_kept;

/// What a file has that is replaced.
pub(super) const MINE: &[u8] = b"mine";

/// A document that is translated into a file.
pub(super) struct Document<'a> {
    /// Its name.
    pub(super) name: &'a str,
    pub(super) stored: &'a [u8],
    /// Flags, with spaces between them.
    pub(super) flags: &'a str,
}

impl Document<'_> {
    /// Translates it, and checks what holds for every document: it stays; a failure leaves the output as it was, and
    /// names the file. Returns the translation.
    pub(super) fn translate(&self, case: &mut Case<'_>) -> Result<(Ended, Option<Vec<u8>>)> {
        let Self {
            name,
            stored,
            flags,
        } = *self;
        case.write(name, stored)?;
        let is_replaced = case.random.one_in(3);
        if is_replaced {
            case.write("out", MINE)?;
        }
        let overwrite = if is_replaced { "--overwrite" } else { "" };
        let columns = columns(name);
        let call = case.infer(&format!(
            "translate --model LAB/model --beam 1 --in {name} --out out {overwrite} {columns} {flags}"
        ));
        let ended = case.run(&call)?;
        ensure!(case.read(name)? == stored, "the document is changed");
        let out = fs::read(case.path("out")).ok();
        let unfinished = fs::read_dir(&case.folder)?.flatten();
        let known = [name, "out", "stdout", "stderr", "terms.tsv"];
        let mut left = unfinished.map(|entry| entry.file_name());
        let left = left.find(|left| known.iter().all(|it| left != it));
        ensure!(left.is_none(), "{left:?} is left");
        if ended.succeeded() {
            ensure!(out.is_some(), "there is no translation");
            return Ok((ended, out));
        }
        let is_kept = out.as_deref() == is_replaced.then_some(MINE);
        ensure!(is_kept, "it failed, and `out` is another one");
        Ok((ended, None))
    }
}

/// Returns the flag that tables require.
pub(super) fn columns(name: &str) -> &'static str {
    let is_table = [".tsv", ".csv", ".tsv.gz", ".csv.gz"]
        .iter()
        .any(|it| name.ends_with(it));
    if is_table { "--columns 2" } else { "" }
}

/// Checks that a refusal names the file and the line.
pub(super) fn names_line(ended: &Ended, name: &str) -> Result<()> {
    let stderr = ended.stderr();
    ensure!(
        ended.succeeded() || stderr.contains(name) && stderr.contains("line "),
        "the error does not name `{name}` and the line: {stderr}"
    );
    Ok(())
}

/// Translates a document of a format, and checks what is kept.
pub(super) fn translate_as(case: &mut Case<'_>, extension: &str, stored: &[u8]) -> Result<Ended> {
    let name = &format!("doc.{extension}");
    let document = Document {
        name,
        stored,
        flags: "",
    };
    let (ended, out) = document.translate(case)?;
    names_line(&ended, name)?;
    if let Some(out) = out {
        check_kept(extension, stored, &out)?;
    }
    Ok(ended)
}
