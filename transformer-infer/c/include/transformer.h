/*
 * The translator, for C. Strings are UTF-8; options and replies are JSON.
 *
 * Written by cbindgen: `UPDATE=1 cargo test -p transformer-c` renews it.
 */

#ifndef TRANSFORMER_H
#define TRANSFORMER_H

/*
 A model that translates. Threads may share it.
 */
typedef struct transformer_translator transformer_translator;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Opens a model directory.

 `options` is a JSON object, or NULL: "precision" ("f32", "int8"), "threads", "shortlist" (false: all tokens are
 candidates), and "source_lang" and "target_lang" for multilingual models.

 Returns NULL if that fails, and sets `error` to a message, which `transformer_free_string` frees; what `error` was
 before is not freed, and stays if nothing fails. `error` may be NULL.

 # Safety

 `path` is a string, `options` a string or NULL, and `error` valid for writes or NULL.
 */
transformer_translator *transformer_open(const char *path,
                                         const char *options,
                                         char **error);

/*
 Translates a text of several sentences or lines, and keeps its line ends and its markup.

 `options` is a JSON object, or NULL: "format" ("text", which is the default, "html", "markdown", ...), "split"
 ("sentences", "lines", "none"), "check" (false: translations are not checked), "glossary" (an object: a term and its
 translation), and settings of the search, such as "beam_size".

 Returns the translation, which `transformer_free_string` frees; NULL as `transformer_open` does.

 # Safety

 `translator` was opened and is not freed, `text` is a string, `options` a string or NULL, and `error` valid for
 writes or NULL.
 */
char *transformer_translate(const transformer_translator *translator,
                            const char *text,
                            const char *options,
                            char **error);

/*
 Translates lines, each a sentence, with scores and alternatives.

 `request` is a JSON object: "lines" (an array of strings), "alignments" (true: pairs of source word and output word),
 "prefixes" (the text that each translation begins with), "glossary", "source_lang", "target_lang", and settings of the
 search, such as "beam_size" and "n_best".

 Returns a JSON array with an object for each line, which `transformer_free_string` frees: "candidates", best first
 ("text", "score", "log_prob", "tokens", "finished", "alignment"), "warning" and "unmet_terms". NULL as
 `transformer_open` does.

 # Safety

 `translator` was opened and is not freed, `request` is a string, and `error` is valid for writes or NULL.
 */
char *transformer_translate_lines(const transformer_translator *translator,
                                  const char *request,
                                  char **error);

/*
 Returns the version of the library, which is not freed.
 */
const char *transformer_version(void);

/*
 Frees a string that this library returned; NULL is ignored.

 # Safety

 `string` is NULL or was returned by this library and is not freed.
 */
void transformer_free_string(char *string);

/*
 Frees a model; NULL is ignored.

 # Safety

 `translator` is NULL or was opened and is not freed, and no other thread uses it.
 */
void transformer_close(transformer_translator *translator);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TRANSFORMER_H */
