/* Translates a text: translate MODEL TEXT [OPTIONS]. */
#include <stdio.h>
#include "transformer.h"

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s MODEL TEXT [OPTIONS]\n", argv[0]);
        return 2;
    }
    char *error = NULL;
    transformer_translator *translator = transformer_open(argv[1], NULL, &error);
    char *text = translator ? transformer_translate(translator, argv[2], argc > 3 ? argv[3] : NULL, &error) : NULL;
    if (text) {
        puts(text);
    } else {
        fprintf(stderr, "error: %s\n", error);
    }
    transformer_free_string(error);
    transformer_free_string(text);
    transformer_close(translator);
    return text ? 0 : 1;
}
