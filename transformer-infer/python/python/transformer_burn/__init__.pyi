from collections.abc import Iterable, Iterator
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Optional, TypedDict, Union, final

if TYPE_CHECKING:
    import numpy

_Path = Union[str, PathLike[str]]

class _Sampling(TypedDict, total=False):
    temperature: float
    top_k: int
    top_p: float
    seed: int

@final
class Attention:
    """The attention weights of all layers and heads for a line and its translation."""

    @property
    def src_tokens(self) -> list[str]:
        """The tokens of the source, EOS last."""
    @property
    def tgt_tokens(self) -> list[str]:
        """The tokens of the translation, EOS last unless it was cut."""
    @property
    def encoder(self) -> numpy.ndarray:
        """Encoder self-attention: ``[n_layers, n_heads, src_len, src_len]``."""
    @property
    def decoder(self) -> numpy.ndarray:
        """Decoder self-attention: ``[n_layers, n_heads, tgt_len, tgt_len]``."""
    @property
    def cross(self) -> numpy.ndarray:
        """Cross-attention: ``[n_layers, n_heads, tgt_len, src_len]``."""

@final
class Candidate:
    """A translation of a line."""

    @property
    def text(self) -> str: ...
    @property
    def score(self) -> float:
        """The log-probability divided by the length penalty: the order of candidates."""
    @property
    def log_prob(self) -> float:
        """The sum of the tokens' log-probabilities, in nats."""
    @property
    def tokens(self) -> list[str]: ...
    @property
    def ids(self) -> list[int]: ...
    @property
    def token_log_probs(self) -> list[float]:
        """The log-probabilities of the tokens, and that of EOS."""
    @property
    def finished(self) -> bool:
        """False if the translation was cut at the length limit."""
    @property
    def alignment(self) -> Optional[list[tuple[int, int]]]:
        """Pairs of source word and output word, counted from 0, if ``alignments`` was set."""
    @property
    def attention(self) -> Optional[Attention]: ...

@final
class Translation:
    """The translations of a line."""

    @property
    def text(self) -> str:
        """The text of the best translation."""
    @property
    def score(self) -> float: ...
    @property
    def candidates(self) -> list[Candidate]:
        """The hypotheses, best first, or samples in the order of drawing."""
    @property
    def warning(self) -> Optional[str]:
        """The warning that the translation is incomplete, if any."""
    @property
    def unmet_terms(self) -> list[int]:
        """Indices of the glossary's terms in the line that the best translation does not contain."""

@final
class Tokenizer:
    """A tokenizer of a model: from text to ids and back."""

    def __init__(self, path: _Path) -> None: ...
    def encode(self, line: str) -> list[int]: ...
    def decode(self, ids: list[int]) -> str: ...
    def tokenize(self, line: str) -> list[str]: ...
    def token(self, id: int) -> Optional[str]: ...
    def id(self, token: str) -> Optional[int]: ...
    def __len__(self) -> int: ...

class Translator:
    """A model that translates lines and documents: one model directory, or several as an ensemble."""

    @property
    def languages(self) -> tuple[Optional[str], Optional[str]]: ...
    @property
    def precisions(self) -> list[str]: ...
    @property
    def search(self) -> dict[str, Any]:
        """The settings of the model's own search, as keyword arguments of ``translate``."""
    @property
    def src_tokenizer(self) -> Tokenizer: ...
    @property
    def tgt_tokenizer(self) -> Tokenizer: ...

    def __init__(
        self,
        *paths: _Path,
        device: Optional[str] = None,
        precision: Optional[Literal["f32", "int8"]] = None,
        threads: Optional[int] = None,
        shortlist: Optional[bool] = None,
        source_lang: Optional[str] = None,
        target_lang: Optional[str] = None,
    ) -> None: ...
    def translate(
        self,
        lines: list[str],
        *,
        alignments: bool = False,
        attention: bool = False,
        prefixes: Optional[list[str]] = None,
        glossary: Optional[dict[str, str]] = None,
        source_lang: Optional[str] = None,
        target_lang: Optional[str] = None,
        first_index: int = 0,
        beam_size: Optional[int] = None,
        n_best: Optional[int] = None,
        length_penalty: Union[str, dict[str, Any], None] = None,
        max_len: Union[int, str, None] = None,
        min_len: Union[int, str, None] = None,
        at_limit: Optional[Literal["cut", "compete", "end", "free-end"]] = None,
        stop: Optional[Literal["present-length", "beam-finished", "never"]] = None,
        coverage_penalty: Optional[float] = None,
        repetition_penalty: Optional[float] = None,
        no_repeat_ngram: Optional[int] = None,
        banned: Optional[list[list[int]]] = None,
        renormalize: Optional[bool] = None,
        sampling: Optional[_Sampling] = None,
        ensemble: Optional[Literal["probs", "log-probs"]] = None,
    ) -> list[Translation]:
        """Translates lines, and returns a translation for each.

        Settings that are not given are the model's own. Ctrl-C is noticed after each thousand lines.
        """
    def translate_iter(
        self, lines: Iterable[str], *, lines_at_once: int = 1000, first_index: int = 0, **options: Any
    ) -> Iterator[Translation]:
        """Translates the lines of an iterable, and yields a translation for each, in order."""
    def stream(
        self, lines: list[str], **options: Any
    ) -> Iterator[tuple[int, str, Optional[Translation]]]:
        """Yields the index of a line, its text so far, and its translation once it is done.

        Tokens are reported with ``beam_size=1`` only.
        """
    def translate_file(
        self,
        input: _Path,
        output: _Path,
        *,
        format: Optional[str] = None,
        split: Literal["sentences", "lines", "none"] = "sentences",
        check: bool = True,
        overwrite: bool = False,
        glossary: Optional[dict[str, str]] = None,
        **options: Any,
    ) -> None:
        """Translates a document, and keeps its markup. The format is that of the file's extension."""
    def score(self, sources: list[str], targets: list[str]) -> list[tuple[float, list[float]]]:
        """Returns the log-probability of each given translation, in nats, with those of its tokens and of EOS."""

@final
class Score:
    """A score of a text."""

    @property
    def name(self) -> str: ...
    @property
    def score(self) -> float: ...
    @property
    def signature(self) -> str: ...
    @property
    def description(self) -> str: ...

class _Metric:
    def corpus_score(self, hypotheses: list[str], references: list[list[str]]) -> Score:
        """Returns the score of a text: its lines, and sets of references."""

@final
class Bleu(_Metric):
    """BLEU, equal to sacreBLEU's."""

    def __init__(
        self, *, lowercase: bool = False, tokenize: Literal["13a", "intl", "zh", "char", "none"] = "13a"
    ) -> None: ...

@final
class Chrf(_Metric):
    """chrF, equal to sacreBLEU's; chrF++ with ``word_order=2``."""

    def __init__(
        self, *, char_order: int = 6, word_order: int = 0, lowercase: bool = False
    ) -> None: ...

@final
class Ter(_Metric):
    """TER, equal to sacreBLEU's."""

    def __init__(self) -> None: ...

def import_model(
    source: _Path,
    out: _Path,
    *,
    source_lang: Optional[str] = None,
    target_lang: Optional[str] = None,
    pieces: list[_Path] = ...,
) -> None:
    """Converts a model of Hugging Face's Transformers, Firefox Translations, CTranslate2 or Argos Translate."""

def export_model(
    model: _Path, out: _Path, *, format: Literal["ctranslate2", "safetensors"] = "ctranslate2"
) -> None:
    """Writes a model directory in the format of another program."""
