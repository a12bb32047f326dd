#!/usr/bin/env bash
# A translator for the messages of programs, from translations in Debian's packages, which anybody can download:
# trains it, scores it on packages that training did not see, and translates a catalog.
#
#   apt-get update && OUT=runs/messages examples/recipes/software_strings.sh de
#
# Needs apt-get, dpkg-deb, and python3 with polib. The language is named as catalogs do: de, pt_BR, zh_CN. Flags of
# transformer-train may follow it.
set -euo pipefail
TGT=${1:?name the language, such as de}
shift
OUT=${OUT:-recipe}
DATA=$OUT/text
here="$(dirname "${BASH_SOURCE[0]}")"
python3 "$here/../../benchmarks/catalogs.py" "$DATA" --language "$TGT"
source "$here/common.sh"
[ "${SMALL:-0}" = 1 ] && small_model+=(--set tokenizer.vocab_size=20000) # more than all characters
case "$TGT" in # BLEU counts words; without spaces between them, characters
zh*) TOKENIZE=zh ;;
ja* | th* | km* | lo* | my*) TOKENIZE=char ;;
esac
copy "$VALID"
copy "$TEST"

new model --src "$DATA/$TRAIN.$SRC" --tgt "$DATA/$TRAIN.$TGT" \
    --src-lang "$SRC" --tgt-lang "${TGT//_/-}" "$@"
score messages "$OUT/model" "$TEST"
infer translate --model "$OUT/model" --in "$DATA/$TEST.po" --out "$OUT/$TEST.$TGT.po"
echo "the translated catalog is $OUT/$TEST.$TGT.po; the licenses of its packages are in $DATA/licenses"
