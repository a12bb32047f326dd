/* Uses every function, rightly and wrongly, and prints the reply to a request of lines. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "transformer.h"

#define REQUEST "{\"lines\": [\"a bad cab\", \"feed a cab\", \"d\"], \"beam_size\": 3, \"n_best\": 2, \"alignments\": true}"

static void check(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

/* Checks that a call was refused with a message that contains `part`. */
static void refused(const void *result, char **error, const char *part) {
    check(!result, "a call was not refused");
    check(*error && strstr(*error, part), *error ? *error : "a refusal has no message");
    transformer_free_string(*error);
    *error = NULL;
}

static void *translate(void *translator) {
    return transformer_translate_lines(translator, REQUEST, NULL);
}

int main(int argc, char **argv) {
    char *error = NULL;
    check(argc == 2, "give the model");
    check(strchr(transformer_version(), '.') != NULL, "the version has no dot");
    refused(transformer_open("/no/such/model", NULL, &error), &error, "/no/such/model");
    refused(transformer_open(NULL, NULL, &error), &error, "`path` is NULL");
    refused(transformer_open("\xff", NULL, &error), &error, "UTF-8");
    refused(transformer_open(argv[1], "{\"precison\": \"f32\"}", &error), &error, "precison");
    refused(transformer_open(argv[1], "{", &error), &error, "line 1");
    check(!transformer_open("/no/such/model", NULL, NULL), "there is no such model");

    transformer_translator *translator = transformer_open(argv[1], "{\"precision\": \"f32\", \"threads\": 1}", &error);
    check(translator != NULL, error);
    refused(transformer_translate(NULL, "a", NULL, &error), &error, "translator is NULL");
    refused(transformer_translate(translator, NULL, NULL, &error), &error, "`text` is NULL");
    refused(transformer_translate(translator, "a", "{\"format\": \"doc\"}", &error), &error, "doc");
    refused(transformer_translate(translator, "a", "{\"beam\": 4}", &error), &error, "beam");
    refused(transformer_translate_lines(translator, "{}", &error), &error, "`lines` is missing");
    refused(transformer_translate_lines(translator, "{\"lines\": [1]}", &error), &error, "string");
    refused(transformer_translate_lines(translator, "{\"lines\": [\"a\"], \"attention\": true}", &error), &error,
            "attention");

    char *text = transformer_translate(translator, "<p>a cab</p>", "{\"format\": \"html\"}", &error);
    check(text != NULL, error);
    check(strncmp(text, "<p>", 3) == 0 && strstr(text, "</p>"), text);
    transformer_free_string(text);
    text = transformer_translate(translator, "<meta charset=\"windows-1252\"><p translate=\"no\">Caf\xc3\xa9</p>",
                                 "{\"format\": \"html\"}", &error);
    check(text != NULL, error);
    check(strstr(text, "Caf\xc3\xa9") != NULL, text);
    transformer_free_string(text);

    char *reply = transformer_translate_lines(translator, REQUEST, &error);
    check(reply != NULL, error);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        check(pthread_create(&threads[i], NULL, translate, translator) == 0, "no thread");
    }
    for (int i = 0; i < 4; i++) {
        void *same;
        check(pthread_join(threads[i], &same) == 0, "a thread is lost");
        check(same && strcmp(reply, same) == 0, "threads get other replies");
        transformer_free_string(same);
    }
    puts(reply);
    transformer_free_string(reply);
    transformer_free_string(NULL);
    transformer_close(translator);
    transformer_close(NULL);
    return 0;
}
