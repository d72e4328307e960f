"""Words that say nothing about a topic: a list of English function words, or the user's own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bigtopic.errors import SettingError

__all__ = ["ENGLISH", "resolve_stop_words"]

_LIMIT = 1 << 24  # bytes of a file

# Function words by class; the last group are the pieces a word-character pattern leaves of contractions.
_ENGLISH = """
a an the this that these those such same other others another each every either neither both all any some
none no not nor only own few fewer many more most much less least several enough

i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her
hers herself it its itself they them their theirs themselves one ones oneself
who whom whose which what whoever whatever whichever
anyone anybody anything someone somebody something everyone everybody everything nobody nothing nowhere
anywhere somewhere everywhere

am is are was were be been being do does did doing done have has had having
can cannot could may might must shall should will would ought

about above across after against along alongside amid among amongst around as at before behind below beneath
beside besides between beyond but by concerning despite down during except for from in inside into like near
of off on onto out outside over past per since than through throughout till to toward towards under until up
upon via with within without

and or if unless because although though while whereas whether so yet then else hence thus therefore
thereby therein however moreover furthermore nevertheless nonetheless otherwise

again already almost also alone always anyhow anyway away back elsewhere ever even further here how indeed
just maybe meanwhile mostly never now often once perhaps quite rather really seldom soon sometimes still
there too twice usually very well when whenever where wherever why

ain aren couldn didn doesn don hadn hasn haven isn ll mightn mustn needn re shan shouldn ve wasn weren won
wouldn
"""

ENGLISH = frozenset(_ENGLISH.split())


def resolve_stop_words(stop_words: str | Iterable[str] | None) -> tuple[str, ...] | str | None:
    """The setting in the form that is stored: None, "english", or the sorted words themselves.

    Parameters
    ----------
    stop_words : None, "english", a path of a text file (a word per line; `#` begins a comment), or words

    Raises
    ------
    SettingError
        When a string is neither "english" nor the path of a file.
    """
    if stop_words is None or stop_words == "english":
        return stop_words
    if isinstance(stop_words, (str, Path)):
        stop_words = _read(Path(stop_words))
    words = tuple(sorted(set(stop_words)))
    if not all(isinstance(word, str) for word in words):
        raise SettingError(
            "stop_words must be strings; allowed are None, 'english', a file, or a list of words"
        )
    return words


def _read(path: Path) -> list[str]:
    try:
        if not path.is_file():
            raise FileNotFoundError
        if path.stat().st_size > _LIMIT:
            raise SettingError(
                f"stop_words file {path} is longer than {_LIMIT >> 20} MiB; give a word per line"
            )
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise SettingError(
            f"stop_words={str(path)!r} is neither 'english' nor a file; give 'english', the path of a file "
            "with one word per line, a list of words, or None"
        ) from None
    except UnicodeDecodeError as error:
        raise SettingError(f"stop_words file {path} is not UTF-8 text: {error}") from None
    except OSError as error:
        raise SettingError(
            f"stop_words file {path} cannot be read: {error.strerror}; check its permissions"
        ) from error
    return [word for line in lines if (word := line.split("#")[0].strip())]
