//! Files of a model directory that are not what they must be: JSON with wrong content, pipes, huge files.

use std::error::Error;
use std::fs;
use std::path::Path;

use serde_json::json;

use super::files::{Outcome, edit_manifest, message, replace_file, written};
use crate::directory::ModelDirectory;
use crate::text::LanguageCode;

/// Replaces text in the manifest, which a map of its values could not express.
fn rewrite_manifest(path: &Path, from: &str, to: &str) -> Outcome {
    let file = path.join("manifest.json");
    let text = fs::read_to_string(&file)?;
    assert!(text.contains(from), "{text}");
    Ok(fs::write(file, text.replacen(from, to, 1))?)
}

/// Returns the cause of the refusal of a directory.
fn cause(path: &Path) -> String {
    let refused = ModelDirectory::open(path).err();
    let cause = refused.as_ref().and_then(|error| error.source());
    cause.map_or_else(String::new, ToString::to_string)
}

#[test]
fn a_key_that_occurs_twice_in_the_manifest_is_refused_by_name() -> Outcome {
    for (from, to, key) in [
        ("\"format\"", "\"format\": 1, \"format\"", "format"),
        ("\"bleu\"", "\"bleu\": 1, \"bleu\"", "bleu"),
        ("\"name\"", "\"name\": \"a\", \"name\"", "name"),
    ] {
        let directory = written()?;
        rewrite_manifest(directory.path(), from, to)?;
        assert!(message(directory.path()).contains("manifest.json` cannot be parsed"));
        let cause = cause(directory.path());
        assert!(
            cause.starts_with(&format!("the key `{key}` occurs twice")),
            "{cause}"
        );
    }
    Ok(())
}

#[test]
fn a_key_that_occurs_twice_in_the_config_or_the_tokenizer_is_refused_by_name() -> Outcome {
    let directory = written()?;
    replace_file(directory.path(), "config", "{\"d_ff\": 8, \"d_ff\": 16}")?;
    assert!(message(directory.path()).contains("config.json` cannot be parsed"));
    assert!(cause(directory.path()).starts_with("the key `d_ff` occurs twice"));
    let directory = written()?;
    let json = fs::read_to_string(directory.path().join("tokenizer.json"))?;
    let twice = json.replacen("\"</s>\"", "\"</s>\": 3, \"</s>\"", 1);
    assert_ne!(json, twice);
    replace_file(directory.path(), "tokenizer", &twice)?;
    let refused = message(directory.path());
    assert!(
        refused.contains("tokenizer.json` cannot be used as a tokenizer"),
        "{refused}"
    );
    let unknown = json.replacen("\"version\"", "\"edition\": 1, \"version\"", 1);
    assert_ne!(json, unknown);
    replace_file(directory.path(), "tokenizer", &unknown)?;
    assert!(message(directory.path()).contains("cannot be used as a tokenizer"));
    Ok(())
}

#[test]
fn a_value_of_a_wrong_type_is_refused_with_its_key() -> Outcome {
    let directory = written()?;
    edit_manifest(directory.path(), |manifest| {
        manifest["files"]["weights"]["bytes"] = json!("12");
    })?;
    assert_eq!(
        cause(directory.path()),
        "`files.weights.bytes`: invalid type: string \"12\", expected u64"
    );
    let directory = written()?;
    edit_manifest(directory.path(), |manifest| {
        let entry = manifest["files"]["weights"].clone();
        manifest["files"]["weights"] = json!([entry["name"], entry["bytes"], entry["sha256"]]);
    })?;
    assert!(cause(directory.path()).starts_with("`files.weights`: invalid type: sequence"));
    let directory = written()?;
    replace_file(directory.path(), "config", "{\"n_heads\": 2.5}")?;
    assert!(cause(directory.path()).starts_with("`n_heads`: invalid type: floating point `2.5`"));
    Ok(())
}

#[test]
fn anything_after_the_manifest_is_refused() -> Outcome {
    let directory = written()?;
    let file = directory.path().join("manifest.json");
    fs::write(&file, fs::read_to_string(&file)? + "{}")?;
    assert!(cause(directory.path()).starts_with("trailing characters"));
    Ok(())
}

#[test]
fn a_format_that_does_not_belong_to_the_precision_is_refused() -> Outcome {
    for (format, precision) in [(2, None), (2, Some("f32")), (1, Some("int8"))] {
        let directory = written()?;
        edit_manifest(directory.path(), |manifest| {
            manifest["format"] = json!(format);
            if let Some(precision) = precision {
                manifest["precision"] = json!(precision);
            }
        })?;
        let refused = message(directory.path());
        let expected = format!(
            "has format {format} and the precision {}, but",
            precision.unwrap_or("f32")
        );
        assert!(refused.contains(&expected), "{refused}");
    }
    Ok(())
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_file_is_refused_by_name() -> Outcome {
    for name in ["config.json", "tokenizer.json", "weights.bpk"] {
        let directory = written()?;
        let path = directory.path().join(name);
        fs::remove_file(&path)?;
        let made = std::process::Command::new("mkfifo").arg(&path).status()?;
        assert!(made.success());
        // Without the check, opening the pipe would never return.
        let error = ModelDirectory::open(&directory).expect_err("a file is a pipe");
        assert!(error.to_string().contains(name), "{error}");
        let cause = error.source().map(ToString::to_string).unwrap_or_default();
        assert!(cause.starts_with("it is a pipe"), "{cause}");
    }
    Ok(())
}

#[test]
fn a_config_or_tokenizer_of_a_gigabyte_is_refused_before_it_is_read() -> Outcome {
    for key in ["config", "tokenizer"] {
        let directory = written()?;
        // A sparse file: it has the size without the content.
        let path = directory.path().join(format!("{key}.json"));
        fs::File::options()
            .write(true)
            .open(path)?
            .set_len(1 << 30)?;
        edit_manifest(directory.path(), |manifest| {
            manifest["files"][key]["bytes"] = json!(1 << 30);
        })?;
        let error = ModelDirectory::open(&directory).expect_err("it is too large");
        let cause = error.source().map(ToString::to_string).unwrap_or_default();
        assert!(cause.starts_with("it has more than"), "{cause}");
    }
    Ok(())
}

#[test]
fn a_language_that_is_no_code_is_refused_by_its_key() -> Outcome {
    for (key, value) in [("src_lang", json!("English")), ("tgt_lang", json!(["de"]))] {
        let directory = written()?;
        edit_manifest(directory.path(), |manifest| {
            manifest["training"] = json!({ key: value });
        })?;
        let found = message(directory.path());
        let manifest = directory.path().join("manifest.json");
        let expected = format!(
            "`training.{key}` in `{}` is not the code of a language, such as en or pt-BR; correct it, or remove the key",
            manifest.display()
        );
        assert!(found.starts_with(&expected), "{found}");
    }
    Ok(())
}

#[test]
fn languages_need_no_new_format() -> Outcome {
    let directory = written()?;
    edit_manifest(directory.path(), |manifest| {
        manifest["training"] = json!({ "src_lang": "en", "tgt_lang": null });
    })?;
    let opened = ModelDirectory::open(directory.path())?;
    assert_eq!(opened.manifest().format, 1);
    let code = opened.languages().src.as_ref();
    assert_eq!(code.map(LanguageCode::as_str), Some("en"));
    assert_eq!(opened.languages().tgt, None);
    Ok(())
}
