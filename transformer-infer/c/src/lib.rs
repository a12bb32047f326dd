//! The translator for C, and for every language that calls C.
//!
//! Strings are UTF-8 and end with NUL. Options and replies are JSON, with the names that settings have in files. The
//! comments of the functions are those of `include/transformer.h`, which `tests/it.rs` compares with this file.

#![expect(
    unsafe_code,
    reason = "functions of C take pointers from their callers"
)]

mod reply;

use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use transformer_infer::Translator as Engine;
use transformer_infer::bindings::{AnyError, DocumentOptions, LineRequest, ModelOptions, read};
use transformer_infer::document::format::Format;
use transformer_infer::one_line;

/// A model that translates. Threads may share it.
#[derive(Debug)]
pub struct TransformerTranslator(Engine);

/// Threads of C share it, which the compiler cannot see.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<TransformerTranslator>();
};

/// Opens a model directory.
///
/// `options` is a JSON object, or NULL: "precision" ("f32", "int8"), "threads", "shortlist" (false: all tokens are
/// candidates), and "source_lang" and "target_lang" for multilingual models.
///
/// Returns NULL if that fails, and sets `error` to a message, which `transformer_free_string` frees; what `error` was
/// before is not freed, and stays if nothing fails. `error` may be NULL.
///
/// # Safety
///
/// `path` is a string, `options` a string or NULL, and `error` valid for writes or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn transformer_open(
    path: *const c_char,
    options: *const c_char,
    error: *mut *mut c_char,
) -> *mut TransformerTranslator {
    let open = || -> Result<_, AnyError> {
        // SAFETY: The caller gives strings.
        let (path, options) = unsafe { (text(path, "path")?, json(options)?) };
        let options: ModelOptions = read(options)?;
        Ok(Box::new(TransformerTranslator(options.open(&[path])?)))
    };
    // SAFETY: `error` is valid for writes or NULL.
    unsafe { caught(open, error) }.map_or(ptr::null_mut(), Box::into_raw)
}

/// Translates a text of several sentences or lines, and keeps its line ends and its markup.
///
/// `options` is a JSON object, or NULL: "format" ("text", which is the default, "html", "markdown", ...), "split"
/// ("sentences", "lines", "none"), "check" (false: translations are not checked), "glossary" (an object: a term and its
/// translation), and settings of the search, such as "beam_size".
///
/// Returns the translation, which `transformer_free_string` frees; NULL as `transformer_open` does.
///
/// # Safety
///
/// `translator` was opened and is not freed, `text` is a string, `options` a string or NULL, and `error` valid for
/// writes or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn transformer_translate(
    translator: *const TransformerTranslator,
    text: *const c_char,
    options: *const c_char,
    error: *mut *mut c_char,
) -> *mut c_char {
    let translate = || -> Result<_, AnyError> {
        // SAFETY: The caller gives a translator that is not freed, and strings.
        let (engine, input, options) = unsafe {
            (
                engine(translator)?,
                self::text(text, "text")?,
                json(options)?,
            )
        };
        let options: DocumentOptions = read(options)?;
        let format = options.format.as_deref().map(str::parse).transpose()?;
        let translated = options.translate_text(engine, format.unwrap_or(Format::Text), input)?;
        Ok(CString::new(translated)?)
    };
    // SAFETY: `error` is valid for writes or NULL.
    unsafe { caught(translate, error) }.map_or(ptr::null_mut(), CString::into_raw)
}

/// Translates lines, each a sentence, with scores and alternatives.
///
/// `request` is a JSON object: "lines" (an array of strings), "alignments" (true: pairs of source word and output word),
/// "prefixes" (the text that each translation begins with), "glossary", "source_lang", "target_lang", and settings of the
/// search, such as "beam_size" and "n_best".
///
/// Returns a JSON array with an object for each line, which `transformer_free_string` frees: "candidates", best first
/// ("text", "score", "log_prob", "tokens", "finished", "alignment"), "warning" and "unmet_terms". NULL as
/// `transformer_open` does.
///
/// # Safety
///
/// `translator` was opened and is not freed, `request` is a string, and `error` is valid for writes or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn transformer_translate_lines(
    translator: *const TransformerTranslator,
    request: *const c_char,
    error: *mut *mut c_char,
) -> *mut c_char {
    let translate = || -> Result<_, AnyError> {
        // SAFETY: The caller gives a translator that is not freed, and a string.
        let (engine, request) = unsafe { (engine(translator)?, text(request, "request")?) };
        let (lines, options) = reply::parse(request)?;
        if options.attention {
            return Err("`attention` is not served here; leave it out".into());
        }
        let request = LineRequest::new(engine, options, lines.len())?;
        let translated = request.translate(engine, &lines, 0..lines.len())?;
        Ok(CString::new(reply::write(engine, &translated)?)?)
    };
    // SAFETY: `error` is valid for writes or NULL.
    unsafe { caught(translate, error) }.map_or(ptr::null_mut(), CString::into_raw)
}

/// Returns the version of the library, which is not freed.
#[unsafe(no_mangle)]
pub extern "C" fn transformer_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}

/// Frees a string that this library returned; NULL is ignored.
///
/// # Safety
///
/// `string` is NULL or was returned by this library and is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn transformer_free_string(string: *mut c_char) {
    if !string.is_null() {
        // SAFETY: It was made by `CString::into_raw`, as the caller promises.
        drop(unsafe { CString::from_raw(string) });
    }
}

/// Frees a model; NULL is ignored.
///
/// # Safety
///
/// `translator` is NULL or was opened and is not freed, and no other thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn transformer_close(translator: *mut TransformerTranslator) {
    if !translator.is_null() {
        // SAFETY: It was made by `Box::into_raw`, as the caller promises.
        drop(unsafe { Box::from_raw(translator) });
    }
}

/// Returns the engine of a translator.
///
/// # Safety
///
/// As for [`transformer_translate`].
unsafe fn engine<'a>(translator: *const TransformerTranslator) -> Result<&'a Engine, AnyError> {
    // SAFETY: It was opened and is not freed, as the caller promises.
    let translator = unsafe { translator.as_ref() };
    Ok(&translator.ok_or("the translator is NULL; open a model")?.0)
}

/// Returns a string of the caller.
///
/// # Safety
///
/// `string` ends with NUL, or is NULL.
unsafe fn text<'a>(string: *const c_char, name: &str) -> Result<&'a str, AnyError> {
    if string.is_null() {
        return Err(format!("`{name}` is NULL; give a string").into());
    }
    // SAFETY: It ends with NUL, as the caller promises.
    let text = unsafe { CStr::from_ptr(string) };
    let text = text.to_str();
    Ok(text.map_err(|error| format!("`{name}` is not UTF-8: {error}"))?)
}

/// Returns options of the caller: an empty object for NULL.
///
/// # Safety
///
/// As for [`text`].
unsafe fn json<'a>(options: *const c_char) -> Result<&'a [u8], AnyError> {
    match options.is_null() {
        true => Ok(b"{}"),
        // SAFETY: It ends with NUL, as the caller promises.
        false => Ok(unsafe { text(options, "options") }?.as_bytes()),
    }
}

/// Calls a function, and gives the message of its error to the caller.
///
/// # Safety
///
/// `error` is valid for writes or NULL.
unsafe fn caught<T>(
    function: impl FnOnce() -> Result<T, AnyError>,
    error: *mut *mut c_char,
) -> Option<T> {
    // A translator has no state that a panic leaves half changed.
    let result = catch_unwind(AssertUnwindSafe(function));
    let message = match result {
        Ok(Ok(value)) => return Some(value),
        Ok(Err(error)) => one_line(&*error),
        Err(_) => "the translator panicked; please report it, with the message on standard error"
            .to_owned(),
    };
    if !error.is_null() {
        let message = CString::new(message.replace('\0', "\\0")).unwrap_or_default();
        // SAFETY: `error` is valid for writes, as the caller promises.
        unsafe { error.write(message.into_raw()) };
    }
    None
}
