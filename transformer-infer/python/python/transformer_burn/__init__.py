"""Translates text and documents with Transformer models, on this machine."""

from itertools import islice

from . import _native
from ._native import (
    Attention,
    Bleu,
    Candidate,
    Chrf,
    Score,
    Ter,
    Tokenizer,
    Translation,
    export_model,
    import_model,
)

__all__ = [
    "Attention",
    "Bleu",
    "Candidate",
    "Chrf",
    "Score",
    "Ter",
    "Tokenizer",
    "Translation",
    "Translator",
    "export_model",
    "import_model",
]


class Translator(_native.Translator):
    """A model that translates lines and documents: one model directory, or several as an ensemble."""

    def translate_iter(self, lines, *, lines_at_once=1000, first_index=0, **options):
        """Translates the lines of an iterable, and yields a translation for each, in order.

        It reads ``lines_at_once`` lines, translates them together, and yields their translations. The options are those
        of ``translate``, without ``prefixes``.
        """
        lines = iter(lines)
        while chunk := list(islice(lines, lines_at_once)):
            yield from self.translate(chunk, first_index=first_index, **options)
            first_index += len(chunk)
