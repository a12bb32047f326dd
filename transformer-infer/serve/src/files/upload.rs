//! [`Upload`]: a file to translate, after every possible check in advance; [`download`]: a translated file as a reply.

use std::borrow::Cow;
use std::io::{Cursor, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::header::{
    CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use tokio::task::spawn_blocking;
use transformer_core::text::one_line;
use transformer_documents::format::{Column, Format, FormatOptions};
use transformer_documents::{Doubtful, Part, ReadError};
use transformer_translate::Glossary;

use super::PendingFile;
use crate::http::{ApiError, doubtful_headers};
use crate::languages::{MAX_DETECTED_BYTES, detector};
use crate::models::{Choice, Models, Selection};
use crate::parameters::UploadedFile;
use crate::state::{Caller, Shared};
use crate::translate::{
    TranslateOptions, TranslatedFile, check_room, check_texts, compute_step, translate_file,
};

const MAX_NAME_CHARS: usize = 100;

#[derive(Debug)]
pub(crate) struct Upload {
    /// Name of the translated file: the given name with the target language.
    pub(crate) name: String,
    /// Number of characters, markup included unless the file is packed.
    pub(crate) n_chars: usize,
    bytes: Bytes,
    pub(crate) format: Format,
    /// Those of the models that translate; none if the file is already in the target language.
    choices: Vec<Choice>,
    glossary: Option<Arc<Glossary>>,
    read: FormatOptions,
    models: Arc<Models>,
}

#[derive(Debug, Default)]
pub(crate) struct UploadOptions {
    pub(crate) glossary: Option<Arc<Glossary>>,
    /// The columns of a table to translate, by their names in the first row, or by their numbers from 1.
    pub(crate) columns: Vec<String>,
}

impl Upload {
    /// Checks a file. Its source language is detected if it is not given.
    pub(crate) async fn new(
        shared: &Shared,
        caller: &Caller,
        file: &UploadedFile,
        source: Option<&str>,
        target: &str,
        options: UploadOptions,
    ) -> Result<Self, ApiError> {
        let (stem, extension) = file.name.rsplit_once('.').unwrap_or((&file.name, ""));
        let format: Result<Format, _> = extension.parse();
        let format = format.map_err(|error| {
            ApiError::request(format!(
                "file format not supported: the file extension {error}"
            ))
        })?;
        let models = shared.models()?;
        let target = models.language(target)?.to_string();
        let mut read = FormatOptions::default();
        let columns = options.columns.iter();
        read.table.columns = columns.map(|it| Column::from(it.as_str())).collect();
        read.tgt_lang = Some(target.clone());
        let is_packed = matches!(format, Format::Package(_));
        let passages = match is_packed || source.is_none() {
            true => passages(format, file, &read, caller).await?,
            false => String::new(),
        };
        let text = match is_packed {
            true => Cow::Borrowed(passages.as_str()),
            false => decoded(&file.bytes),
        };
        check_texts(shared, &[&text], 1, caller)?;
        let source = match source {
            Some(source) => models.language(source)?.as_str().to_owned(),
            // There is nothing to translate.
            None if passages.is_empty() => target.clone(),
            None => detected(&models, &passages)?,
        };
        let choices = match source == target {
            true => Vec::new(),
            false => {
                let selection = Selection {
                    source: Some(&source),
                    target: Some(&target),
                    ..Selection::default()
                };
                models.choose(selection)?
            }
        };
        if choices.len() > 1 && options.glossary.is_some() {
            return Err(ApiError::request(
                "glossaries of files are not available through a third language; omit the glossary",
            ));
        }
        // A model that is not in memory has room. It is loaded once the file is accepted.
        let loaded = choices.first().and_then(|it| models.pool.loaded(it));
        if let Some(served) = loaded {
            check_room(&served, caller.id, 0)?;
        }
        Ok(Self {
            name: format!("{}_{target}.{}", plain(stem), plain(extension)),
            n_chars: text.chars().count(),
            bytes: file.bytes.clone(),
            format,
            choices,
            glossary: options.glossary,
            read,
            models,
        })
    }

    pub(crate) fn is_translated(&self) -> bool {
        self.choices.is_empty()
    }

    /// Translates the accepted file, regardless of the queue.
    pub(crate) async fn translate(
        self,
        caller: &Caller,
        accepted: &PendingFile,
    ) -> Result<TranslatedFile, ApiError> {
        if self.choices.is_empty() {
            return Ok(TranslatedFile {
                bytes: self.bytes,
                doubtful: Doubtful::default(),
            });
        }
        let route = self.models.pool.route(self.choices, true).await?;
        let caller = caller.for_file(&accepted.slot);
        let options = TranslateOptions {
            glossary: self.glossary,
            has_terms_alone: true,
            ..TranslateOptions::default()
        };
        let format = (self.format, self.read);
        translate_file(&route, format, self.bytes, &options, &caller).await
    }
}

/// Returns the text of a file without markup, or its start if it has more characters than a maximum.
async fn passages(
    format: Format,
    file: &UploadedFile,
    options: &FormatOptions,
    caller: &Caller,
) -> Result<String, ApiError> {
    let (input, options) = (Cursor::new(file.bytes.clone()), options.clone());
    let max_chars = match format {
        // Its characters are counted.
        Format::Package(_) => caller.max_chars,
        _ => MAX_DETECTED_BYTES,
    };
    let refused = |error: ReadError| ApiError::request(one_line(&error));
    let read = move || {
        let reader = format.read("the file".to_owned(), input, &options);
        let mut text = String::new();
        let mut n_chars = 0;
        for part in reader.map_err(refused)? {
            if let Part::Passage(passage) = part.map_err(refused)? {
                n_chars += passage.text.chars().count() + 1;
                text.push_str(&passage.text);
                text.push('\n');
            }
            if n_chars > max_chars {
                break;
            }
        }
        Ok(text)
    };
    compute_step(caller.id, read).await
}

/// Returns a file as text, to count its characters: UTF-16 by its byte order mark, or else UTF-8.
fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let unit = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return String::from_utf8_lossy(bytes),
    };
    let units = bytes.as_chunks::<2>().0.iter().copied().map(unit);
    let chars = char::decode_utf16(units).map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER));
    chars.collect()
}

fn detected(models: &Models, text: &str) -> Result<String, ApiError> {
    let found = detector(models).detect(text);
    let found = found.ok_or_else(|| {
        ApiError::request("cannot detect the language of the file; give the source language")
    })?;
    Ok(found.code)
}

/// Returns a name that needs no escaping in an address or a header.
fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    // Of a path, the name.
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain = name.chars().map(|c| if is_plain(c) { c } else { '_' });
    let plain: String = plain.take(MAX_NAME_CHARS).collect();
    let plain = plain.trim_start_matches('.');
    if plain.is_empty() { "file" } else { plain }.to_owned()
}

/// Replies with a file, which browsers save and do not show: a page among the files must not act for this server.
/// A header says how many translations are doubtful.
pub(crate) async fn download(
    path: &Path,
    name: &str,
    doubtful: Doubtful,
) -> Result<Response, ApiError> {
    let path = path.to_owned();
    let read = spawn_blocking(move || std::fs::read(path)).await;
    let bytes = match read {
        Ok(Ok(bytes)) => bytes,
        // A program that cleans the temporary folder was faster.
        Ok(Err(error)) if error.kind() == ErrorKind::NotFound => return Err(ApiError::NotFound),
        _ => return Err(ApiError::Internal),
    };
    let headers = [
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{name}\""),
        ),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (
            CONTENT_SECURITY_POLICY,
            "sandbox; default-src 'none'".to_owned(),
        ),
    ];
    Ok((headers, doubtful_headers([doubtful]), bytes).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_utf16_count_once() {
        let text = "\u{feff}dög 🙂";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [text.as_bytes(), &little, &big] {
            assert_eq!(decoded(bytes), text);
        }
        assert_eq!(decoded(&little[..3]), "\u{feff}");
    }

    #[test]
    fn names_are_without_folders_and_special_characters() {
        assert_eq!(plain("../../etc/passwd"), "passwd");
        assert_eq!(plain("C:\\a\\b c\"\r\n<d>.txt"), "b_c____d_.txt");
        assert_eq!(plain("..."), "file");
        assert_eq!(plain(&"a".repeat(1000)).len(), MAX_NAME_CHARS);
    }
}
