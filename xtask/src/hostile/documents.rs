//! The class `documents`: documents that are changed, cut, packed, long, nested deeply, or of another format than their
//! name says; glossaries that are damaged; and output that is killed, has no room, or replaces a file.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;

use anyhow::{Result, ensure};
use flate2::read::MultiGzDecoder;

use super::case::Case;
use super::damage::{ByteChange, damage};
use super::disks::names_the_disk;
use super::document::{Document, MINE, columns, names_line, translate_as};
use super::document_checks::check_kept;
use super::document_seeds::{FLAGS, REPEATED, SEEDS, Seed, TERMS, seed};
use super::kills::signaled;
use super::lab::Lab;
use super::text::{INVALID, gzip};

/// Changes of each byte of a document.
const N_CHANGES: u64 = 2;

/// Attempts that change no single byte.
const N_OTHER: u64 = 4000;

/// Most repetitions of words, which are translated.
const MOST_WORDS: usize = 4000;

/// Most bytes of a repeated text.
const MOST_REPEATED: usize = 3 << 19;

pub(super) fn n_attempts(_: &Lab) -> Result<u64> {
    let packed: Vec<Vec<u8>> = SEEDS.iter().map(packed).collect::<Result<_>>()?;
    let n_bytes: usize = SEEDS.iter().map(|seed| seed.text.len()).sum();
    let n_packed: usize = packed.iter().map(Vec::len).sum();
    Ok(N_OTHER + N_CHANGES * n_bytes as u64 + n_packed as u64)
}

pub(super) fn attempt(case: &mut Case<'_>) -> Result<()> {
    let mut index = case.index;
    for seed in &SEEDS {
        let n = N_CHANGES * seed.text.len() as u64;
        if index < n {
            return at_position(case, seed, (index / N_CHANGES) as usize);
        }
        index -= n;
        let packed = packed(seed)?;
        let n = packed.len() as u64;
        if index < n {
            return at_packed_position(case, seed, packed, index as usize);
        }
        index -= n;
    }
    match index % 16 {
        0..=2 => damaged(case),
        3 => not_utf8(case),
        4 | 5 => other_format(case),
        6 | 7 => repeated(case),
        8 | 9 => flags(case),
        10 => glossary(case),
        11 => standard_input(case),
        12 => other_files(case),
        13 => no_room(case),
        14 => packed_twice(case),
        _ => killed(case),
    }
}

fn packed(seed: &Seed) -> Result<Vec<u8>> {
    gzip(seed.text.as_bytes())
}

fn some_seed(case: &mut Case<'_>) -> Seed {
    SEEDS[case.random.below(SEEDS.len())]
}

/// Changes a byte of a document, or cuts it there.
fn at_position(case: &mut Case<'_>, seed: &Seed, at: usize) -> Result<()> {
    let mut bytes = seed.text.as_bytes().to_vec();
    let change = match case.index % N_CHANGES {
        0 => ByteChange::Truncate,
        _ => ByteChange::ALL[case.random.below(5)],
    };
    change.apply(&mut bytes, at, &mut case.random);
    let ended = translate_as(case, seed.extension, &bytes)?;
    if std::str::from_utf8(&bytes).is_err() {
        ended.check_refused("the document is not UTF-8")?;
    }
    Ok(())
}

/// Cuts a packed document, or changes a byte of it.
fn at_packed_position(
    case: &mut Case<'_>,
    seed: &Seed,
    mut packed: Vec<u8>,
    at: usize,
) -> Result<()> {
    let is_cut = case.random.one_in(2);
    let change = match is_cut {
        true => ByteChange::Truncate,
        false => ByteChange::Flip,
    };
    change.apply(&mut packed, at, &mut case.random);
    let name = format!("doc.{}.gz", seed.extension);
    let document = Document {
        name: &name,
        stored: &packed,
        flags: "",
    };
    let (ended, out) = document.translate(case)?;
    names_line(&ended, &name)?;
    // Fewer than two bytes are no gzip.
    if is_cut && at >= 2 {
        ended.check_refused("the gzip stream is cut")?;
        let stderr = ended.stderr();
        ensure!(
            stderr.contains("truncated"),
            "the error does not say that the file is cut: {stderr}"
        );
    }
    if let Some(out) = out {
        let mut text = Vec::new();
        // Bytes that have no meaning may have changed.
        let read = MultiGzDecoder::new(&packed[..]).read_to_end(&mut text);
        let text = read.map_or(packed.as_slice(), |_| text.as_slice());
        check_kept(seed.extension, text, &out)?;
    }
    Ok(())
}

fn damaged(case: &mut Case<'_>) -> Result<()> {
    let seed = some_seed(case);
    let mut bytes = seed.text.as_bytes().to_vec();
    for _ in 0..1 + case.random.below(5) {
        damage(&mut bytes, &mut case.random);
    }
    if bytes.starts_with(b"\x1f\x8b") {
        return Ok(());
    }
    translate_as(case, seed.extension, &bytes).map(drop)
}

/// Inserts bytes that are not UTF-8. The error names their line.
fn not_utf8(case: &mut Case<'_>) -> Result<()> {
    let seed = some_seed(case);
    let at = seed
        .text
        .floor_char_boundary(case.random.below(seed.text.len()));
    let invalid: &[u8] = case.random.pick(&INVALID);
    let (before, behind) = seed.text.as_bytes().split_at(at);
    let ended = translate_as(case, seed.extension, &[before, invalid, behind].concat())?;
    ended.check_refused("the document is not UTF-8")?;
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
    let stderr = ended.stderr();
    ensure!(
        stderr.contains(&format!("line {line}: ")),
        "the error does not name line {line}: {stderr}"
    );
    Ok(())
}

/// The extension is that of another format, or of none.
fn other_format(case: &mut Case<'_>) -> Result<()> {
    let (content, other) = (some_seed(case), some_seed(case));
    if case.random.one_in(6) {
        let name = case
            .random
            .pick(&["doc", "doc.pdf", "doc.gz", "doc.docx", ".html"]);
        let document = Document {
            name,
            stored: content.text.as_bytes(),
            flags: "",
        };
        let (ended, _) = document.translate(case)?;
        return ended.check_refused("the extension is of no format");
    }
    translate_as(case, other.extension, content.text.as_bytes()).map(drop)
}

/// Repeats markup up to a million times.
fn repeated(case: &mut Case<'_>) -> Result<()> {
    let (extension, repeated, closing) = REPEATED[case.random.below(REPEATED.len())];
    let has_words = extension == "txt" && repeated.contains(char::is_alphabetic);
    let most = match has_words {
        true => MOST_WORDS,
        false => MOST_REPEATED / (repeated.len() + closing.len()),
    };
    let n = [1000, 50_000, most][case.random.below(3)].min(most);
    let before = match extension {
        "vtt" => "WEBVTT\n\n00:01.000 --> 00:02.000\n",
        "srt" if !repeated.starts_with('1') => "1\n00:00:01,000 --> 00:00:02,000\n",
        "csv" => "id,text\n1,",
        "tsv" => "id\ttext\n1\t",
        "po" if repeated.starts_with('"') => "msgid \"\"\n",
        "json" if repeated.starts_with('\\') => "\"",
        _ => "",
    };
    let middle = case.random.pick(&["", "1", "101 7"]);
    let text = [before, &repeated.repeat(n), middle, &closing.repeat(n)].concat();
    translate_as(case, extension, text.as_bytes()).map(drop)
}

/// Flags of any format.
fn flags(case: &mut Case<'_>) -> Result<()> {
    let seed = some_seed(case);
    case.write("terms.tsv", TERMS)?;
    let flags = [case.random.pick(&FLAGS), case.random.pick(&FLAGS)].join(" ");
    let name = format!("doc.{}", seed.extension);
    let document = Document {
        name: &name,
        stored: seed.text.as_bytes(),
        flags: &flags,
    };
    let (_, out) = document.translate(case)?;
    let others = ["--retranslate", "--separator", "--wrapped"];
    let changes_structure = others.iter().any(|it| flags.contains(it));
    match out.filter(|_| !changes_structure) {
        Some(out) => check_kept(seed.extension, seed.text.as_bytes(), &out),
        None => Ok(()),
    }
}

/// A damaged glossary, for a document or for lines.
fn glossary(case: &mut Case<'_>) -> Result<()> {
    let mut terms = TERMS.as_bytes().to_vec();
    if case.random.one_in(4) {
        terms = gzip(&terms)?;
    }
    damage(&mut terms, &mut case.random);
    case.write("terms.tsv", &terms)?;
    let ended = if case.random.one_in(2) {
        let seed = some_seed(case);
        let document = Document {
            name: &format!("doc.{}", seed.extension),
            stored: seed.text.as_bytes(),
            flags: "--terms terms.tsv",
        };
        document.translate(case)?.0
    } else {
        let call = case.infer("translate --model LAB/model --terms terms.tsv");
        case.run_with_input(call, b"101 7\n110 10 10\n")?
    };
    names_line(&ended, "terms.tsv")
}

/// A document of standard input is translated as that of a file.
fn standard_input(case: &mut Case<'_>) -> Result<()> {
    let seed = some_seed(case);
    let bytes = match case.random.one_in(3) {
        true => packed(&seed)?,
        false => seed.text.as_bytes().to_vec(),
    };
    let name = format!("doc.{}", seed.extension);
    let document = Document {
        name: &name,
        stored: &bytes,
        flags: "",
    };
    let (ended, out) = document.translate(case)?;
    ended.check_succeeded("the document is valid")?;
    let call = case.infer(&format!(
        "translate --model LAB/model --beam 1 --in - --format {} {}",
        seed.extension,
        columns(&name)
    ));
    let ended = case.run_with_input(call, &bytes)?;
    ended.check_succeeded("the document is valid")?;
    ensure!(
        Some(&ended.stdout) == out.as_ref(),
        "standard input has another translation than the file"
    );
    Ok(())
}

/// The files are no files, the same, or not to be replaced.
fn other_files(case: &mut Case<'_>) -> Result<()> {
    let seed = some_seed(case);
    let name = format!("doc.{}", seed.extension);
    case.write(&name, seed.text)?;
    case.write("old", MINE)?;
    fs::create_dir(case.path(&format!("folder.{}", seed.extension)))?;
    symlink(&name, case.path("link"))?;
    symlink("nowhere", case.path("dangling"))?;
    let extension = seed.extension;
    let (input, output) = [
        (format!("missing.{extension}"), "out"),
        (format!("folder.{extension}"), "out"),
        ("dangling".to_owned(), "out"),
        (name.clone(), "old"),
        (name.clone(), "folder/out"),
        (name.clone(), "."),
        (name.clone(), name.as_str()),
        (name.clone(), "link --overwrite"),
        (name.clone(), "dangling"),
    ][case.random.below(9)]
    .clone();
    let columns = columns(&name);
    let call = format!("translate --model LAB/model --in {input} --out {output} {columns}");
    let ended = case.run_infer(&call)?;
    ended.check_refused(&format!("`{input}` cannot be translated into `{output}`"))?;
    ensure!(
        case.read(&name)? == seed.text.as_bytes(),
        "the document is changed"
    );
    ensure!(case.read("old")? == MINE, "the old file is changed");
    ensure!(!case.path("out").exists(), "`out` is left");
    Ok(())
}

/// Returns a document of several kilobytes.
fn long(case: &mut Case<'_>) -> (&'static str, String) {
    let extension = case.random.pick(&["txt", "md", "html", "tsv"]);
    (extension, format!("{}\n", seed(extension).text).repeat(40))
}

/// The translation has no room.
fn no_room(case: &mut Case<'_>) -> Result<()> {
    let (extension, text) = long(case);
    let name = format!("doc.{extension}");
    case.write(&name, &text)?;
    case.write("out", MINE)?;
    let columns = columns(&name);
    let arguments = format!("translate --model LAB/model --beam 1 --in {name} {columns}");
    let is_file = case.random.one_in(2);
    let mut call = match is_file {
        true => case.infer(&format!("{arguments} --out out --overwrite")),
        false => case.infer(&arguments),
    };
    match is_file {
        true => call.file_blocks = Some(1 + case.random.below(2) as u64),
        false => call.output = Some("/dev/full".into()),
    }
    let ended = case.run(&call)?;
    ended.check_refused("there is no room for the translation")?;
    names_the_disk(&ended)?;
    ensure!(case.read("out")? == MINE, "the old file is changed");
    ensure!(
        case.read(&name)? == text.as_bytes(),
        "the document is changed"
    );
    let entries = fs::read_dir(&case.folder)?.count();
    ensure!(entries <= 4, "an unfinished file is left");
    Ok(())
}

/// A document in two members of gzip is translated as the plain one; with other bytes behind it, it is refused.
fn packed_twice(case: &mut Case<'_>) -> Result<()> {
    let seed = some_seed(case);
    let bytes = seed.text.as_bytes();
    let (first, second) = bytes.split_at(case.random.below(bytes.len()));
    let mut stored = [gzip(first)?, gzip(second)?].concat();
    let has_rest = case.random.one_in(2);
    if has_rest {
        stored.extend(b"x1");
    }
    let packed = Document {
        name: &format!("doc.{}.gz", seed.extension),
        stored: &stored,
        flags: "",
    };
    let (ended, out) = packed.translate(case)?;
    if has_rest {
        ended.check_refused("there is something behind the gzip stream")?;
        return names_line(&ended, packed.name);
    }
    ended.check_succeeded("the document is valid")?;
    let _ = fs::remove_file(case.path("out"));
    fs::remove_file(case.path(packed.name))?;
    let plain = Document {
        name: &format!("doc.{}", seed.extension),
        stored: bytes,
        flags: "",
    };
    let (_, expected) = plain.translate(case)?;
    ensure!(
        out == expected,
        "the packed document has another translation"
    );
    Ok(())
}

/// The program is killed while it writes: the output is the old one or the complete new one.
fn killed(case: &mut Case<'_>) -> Result<()> {
    let (extension, text) = long(case);
    let name = format!("doc.{extension}");
    case.write(&name, &text)?;
    let columns = columns(&name);
    let call = case.infer(&format!(
        "translate --model LAB/model --beam 1 --in {name} --out out --overwrite {columns}"
    ));
    case.run(&call)?.check_succeeded("the document is valid")?;
    let expected = case.read("out")?;
    case.write("out", MINE)?;
    let event = 1 + case.random.below(4);
    let is_killed = signaled(case, &call, event, "KILL")?;
    let out = case.read("out")?;
    ensure!(
        out == expected || is_killed && out == MINE,
        "`out` is neither the old file nor the translation"
    );
    ensure!(
        case.read(&name)? == text.as_bytes(),
        "the document is changed"
    );
    case.run(&call)?.check_succeeded("it was killed before")?;
    ensure!(
        case.read("out")? == expected,
        "the second translation is another one"
    );
    Ok(())
}
