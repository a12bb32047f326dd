//! Documents that are damaged, cut, packed, long or of another format; damaged glossaries; output over existing files.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;

use anyhow::{Result, ensure};
use flate2::read::MultiGzDecoder;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::attack::{Attack, Case};
use super::damage::{Damage, damages};
use super::kept::check_kept;
use super::lab::files_below;
use super::program::Ended;
use super::text::{gzip, invalid};
use super::texts::one_of;

/// A document of every format, with everything that its reader treats specially.
const SEEDS: &[(&str, &str)] = &[
    ("txt", include_str!("../fixtures/document.txt")),
    ("md", include_str!("../fixtures/document.markdown")),
    ("html", include_str!("../fixtures/document.html")),
    ("srt", include_str!("../fixtures/document.srt")),
    ("vtt", include_str!("../fixtures/document.vtt")),
    ("tsv", include_str!("../fixtures/document.tsv")),
    ("csv", include_str!("../fixtures/document.csv")),
    ("po", include_str!("../fixtures/document.po")),
    ("json", include_str!("../fixtures/document.json")),
];

/// Markup to repeat, with its format and the text before it; the part after `…` is repeated at the end.
const REPEATED: &[(&str, &str, &str)] = &[
    (
        "txt",
        "",
        "-¦ ¦\r¦\n¦{…}¦{n, plural, ¦\u{301}¦\u{1f469}\u{200d}¦(.\"¦%¦@.",
    ),
    ("md", "", "> ¦- ¦*_¦[…]¦[](…)¦![…]¦`¦|¦<b>…</b>¦\\¦~¦&"),
    (
        "html",
        "",
        "<div>¦<b><p>¦<a>…</a>¦<table>¦<¦&¦<p a=\"¦</b>¦<!--¦<svg>…</svg>",
    ),
    ("srt", "", "1\n00:00:01,000 --> 00:00:02,000\n-\n\n"),
    ("srt", "1\n00:00:01,000 --> 00:00:02,000\n", "<i>…</i>"),
    ("vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n", "<c>…</c>"),
    ("tsv", "id\ttext\n1\t", "\t¦\\n"),
    ("csv", "id,text\n1,", "\"¦,¦\"\""),
    ("po", "msgid \"\"\n", "\"\\n\"\n"),
    ("po", "", "#\n"),
    ("json", "", "[…]¦{\"a\":…}"),
    ("json", "\"", "\\\\"),
];

/// Flags, some of which do not suit a format.
const FLAGS: &str = "| --split lines | --split none | --lang zz | --lang ja | --max-segment 1 | --max-segment 3 \
    | --max-segment 18446744073709551615 | --protect [0-9]+ | --protect ( | --protect (a*)*b \
    | --protect-numbers --no-placeholders | --wrapped | --attributes | --columns 2 | --columns 1 --no-header \
    | --columns 99999999999999999999 | --separator ; --columns 1 | --keys a,* --skip-keys b* | --retranslate --fuzzy \
    | --pause 0 | --pause 18446744073709551615 | --terms terms.tsv";

/// A glossary.
const TERMS: &str = "# 1\n101 7\t5\n110\t6 6\n10\t2\n\n";

/// The content of a file that is replaced.
const MINE: &[u8] = b"mine";

/// Storage forms of a document: plain, in one or two gzip members, or with other bytes after it.
const FORMS: &str = "plain | plain | plain | gzip | members | rest";

#[test]
fn every_document_keeps_its_structure_or_is_refused() -> Result<()> {
    Attack::run(attack)
}

pub(crate) fn attack(attack: &Attack) -> Result<()> {
    documents(attack)?;
    no_format(attack)?;
    not_utf8(attack)?;
    repeated(attack)?;
    glossary(attack)?;
    other_files(attack)
}

/// Returns the flag that tables require.
fn columns(name: &str) -> &'static str {
    let is_table = name.contains(".tsv") || name.contains(".csv");
    if is_table { "--columns 2" } else { "" }
}

/// Translates a document into `out`. The document must stay unchanged; after a failure, `out` must be unchanged, and
/// the error must name the file and the line.
fn translate(
    case: &Case<'_>,
    name: &str,
    stored: &[u8],
    flags: &str,
) -> Result<(Ended, Option<Vec<u8>>)> {
    case.write(name, stored)?;
    let before = fs::read(case.path("out")).ok();
    let overwrite = if before.is_some() { "--overwrite" } else { "" };
    let files = format!("--in {name} --out out {overwrite} {}", columns(name));
    let command = format!("infer translate --model LAB/model --beam 1 {files} {flags}");
    let ended = case.run(&command)?;
    ensure!(case.read(name)? == stored, "the document is changed");
    let mut files = files_below(&case.path("."))?.into_keys();
    let left = files.find(|file| ![name, "out", "terms.tsv"].contains(&&*file.to_string_lossy()));
    ensure!(left.is_none(), "{left:?} is left");
    let out = fs::read(case.path("out")).ok();
    if ended.succeeded() {
        ensure!(out.is_some(), "there is no translation");
        return Ok((ended, out));
    }
    ensure!(out == before, "it failed, and `out` is another one");
    let stderr = &ended.stderr;
    let is_named = stderr.contains(name) && stderr.contains("line ") || !flags.is_empty();
    ensure!(is_named, "`{name}` and the line are not named: {stderr}");
    Ok((ended, None))
}

/// Translates whole and damaged documents, in every form, under their own or another extension.
fn documents(attack: &Attack) -> Result<()> {
    let damages = prop_oneof![1 => Just(Vec::new()), 2 => damages()];
    let flags = prop_oneof![3 => Just(Vec::new()), 1 => vec(one_of(FLAGS), 2)];
    let document = (
        select(SEEDS),
        option::weighted(0.1, select(SEEDS)),
        one_of(FORMS),
    );
    let cases = (document, damages, flags, any::<bool>());
    attack.check(150, cases, |case, drawn| {
        let ((seed, other, form), damages, flags, is_replaced) = drawn;
        let (text, extension) = (seed.1.as_bytes(), other.unwrap_or(seed).0);
        let (first, second) = text.split_at(text.len() / 3);
        let whole = match form {
            "plain" => text.to_vec(),
            "gzip" => gzip(text),
            "members" => [gzip(first), gzip(second)].concat(),
            _ => [gzip(text), b"x1".to_vec()].concat(),
        };
        let stored = Damage::apply(&damages, &whole);
        if stored.starts_with(b"\x1f\x8b") && form == "plain" {
            return Ok(());
        }
        let mut unpacked = Vec::new();
        let is_packed = MultiGzDecoder::new(&stored[..])
            .read_to_end(&mut unpacked)
            .is_ok();
        let content = if is_packed { &unpacked } else { &stored };
        if is_replaced {
            case.write("out", MINE)?;
        }
        case.write("terms.tsv", TERMS)?;
        let packed = if form == "plain" { "" } else { ".gz" };
        let (name, flags) = (format!("doc.{extension}{packed}"), flags.join(" "));
        let flags = flags.trim();
        let (ended, out) = translate(case, &name, &stored, flags)?;
        if form == "plain" && str::from_utf8(content).is_err() {
            ended.check_refused("the document is not UTF-8")?;
        }
        let is_whole = stored == whole;
        if form == "rest" && is_whole {
            ended.check_refused("other bytes follow the gzip stream")?;
        }
        // Fewer than two bytes are not gzip.
        let is_cut = matches!(damages[..], [Damage::Truncate(_)]);
        if is_cut && form == "gzip" && stored.len() > 1 {
            ended.check_refused("the gzip stream is cut")?;
            let is_named = !flags.is_empty() || ended.stderr.contains("truncated");
            ensure!(is_named, "the error names no cut: {}", ended.stderr);
        }
        let changes = ["--retranslate", "--separator", "--wrapped"];
        if let Some(out) = out.filter(|_| !changes.iter().any(|it| flags.contains(it))) {
            check_kept(extension, content, &out)?;
        }
        if is_whole && form != "rest" && other.is_none() && flags.is_empty() {
            ended.check_succeeded("the document is valid")?;
            return standard_input(case, extension, stored);
        }
        Ok(())
    })
}

fn no_format(attack: &Attack) -> Result<()> {
    let names = one_of("doc | doc.pdf | doc.gz | doc.docx | .html");
    attack.check(3, (select(SEEDS), names), |case, ((_, text), name)| {
        case.write(name, text)?;
        let command = format!("infer translate --model LAB/model --in {name} --out out");
        let ended = case.run(&command)?;
        ended.check_refused("the extension is of no format")
    })
}

/// Checks that a document on standard input is translated like the file.
fn standard_input(case: &Case<'_>, extension: &str, stored: Vec<u8>) -> Result<()> {
    let flags = format!("--format {extension} {}", columns(&format!(".{extension}")));
    let command = format!("infer translate --model LAB/model --beam 1 --in - {flags}");
    let ended = case.run_with(&command, stored)?;
    ended.check_succeeded("the document is valid")?;
    let is_equal = ended.stdout == case.read("out")?;
    ensure!(is_equal, "standard input has another translation");
    Ok(())
}

fn not_utf8(attack: &Attack) -> Result<()> {
    let cases = (select(SEEDS), any::<Index>(), invalid());
    attack.check(12, cases, |case, ((extension, text), at, invalid)| {
        let at = text.floor_char_boundary(at.index(text.len()));
        let (before, after) = text.as_bytes().split_at(at);
        let bytes = [before, invalid, after].concat();
        let (ended, _) = translate(case, &format!("doc.{extension}"), &bytes, "")?;
        ended.check_refused("the document is not UTF-8")?;
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let is_named = ended.stderr.contains(&format!("line {line}: "));
        ensure!(is_named, "line {line} is not named: {}", ended.stderr);
        Ok(())
    })
}

fn repeated(attack: &Attack) -> Result<()> {
    let markup = (select(REPEATED), any::<Index>());
    let lengths = select(vec![1000, 50_000, 3 << 19]);
    let cases = (markup, lengths, one_of("| 1 | 101 7"));
    attack.check(14, cases, |case, drawn| {
        let (((extension, before, markup), at), n, middle) = drawn;
        let markup: Vec<_> = markup.split('¦').collect();
        let markup = *at.get(&markup);
        let (repeated, closing) = markup.split_once('…').unwrap_or((markup, ""));
        // Words are translated, one sentence each.
        let is_text = extension == "txt" && repeated.contains(char::is_alphabetic);
        let max = if is_text {
            4000
        } else {
            (3 << 19) / markup.len()
        };
        let n = n.min(max);
        let text = [before, &repeated.repeat(n), middle, &closing.repeat(n)].concat();
        let (_, out) = translate(case, &format!("doc.{extension}"), text.as_bytes(), "")?;
        out.map_or(Ok(()), |out| check_kept(extension, text.as_bytes(), &out))
    })
}

/// Translates a document or lines with a damaged glossary.
fn glossary(attack: &Attack) -> Result<()> {
    let cases = (option::of(select(SEEDS)), any::<bool>(), damages());
    attack.check(12, cases, |case, (seed, is_packed, damages)| {
        let packed = gzip(TERMS.as_bytes());
        let terms = if is_packed { &packed } else { TERMS.as_bytes() };
        case.write("terms.tsv", Damage::apply(&damages, terms))?;
        let command = "infer translate --model LAB/model --terms terms.tsv";
        let ended = match seed {
            Some((extension, text)) => {
                let name = format!("doc.{extension}");
                translate(case, &name, text.as_bytes(), "--terms terms.tsv")?.0
            }
            None => case.run_with(command, "101 7\n110 10\n")?,
        };
        let names = ["terms.tsv", "line "];
        let is_named = ended.succeeded() || names.iter().all(|it| ended.stderr.contains(it));
        ensure!(is_named, "the line is not named: {}", ended.stderr);
        Ok(())
    })
}

/// Checks that files are refused that are not regular, are the same, or must not be replaced.
fn other_files(attack: &Attack) -> Result<()> {
    let files = one_of(
        "missing.X out | folder.X out | dangling out | doc.X old | doc.X folder/out | doc.X . | doc.X doc.X \
         | doc.X link --overwrite | doc.X dangling",
    );
    attack.check(10, (select(SEEDS), files), |case, drawn| {
        let ((extension, text), files) = drawn;
        let name = format!("doc.{extension}");
        case.write(&name, text)?;
        case.write("old", MINE)?;
        fs::create_dir(case.path(&format!("folder.{extension}")))?;
        symlink(&name, case.path("link"))?;
        symlink("nowhere", case.path("dangling"))?;
        let files = files.replace('X', extension).replacen(' ', " --out ", 1);
        let columns = columns(&name);
        let command = format!("infer translate --model LAB/model --in {files} {columns}");
        let ended = case.run(&command)?;
        ended.check_refused("these files are not a document and a new one")?;
        let is_same = case.read(&name)? == text.as_bytes();
        ensure!(is_same, "the document is changed");
        ensure!(case.read("old")? == MINE, "the old file is changed");
        ensure!(!case.path("out").exists(), "`out` is left");
        Ok(())
    })
}
