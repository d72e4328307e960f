"""Files that a plain text reader would take for text, but that are of another format: one row per format.

A signature looks at the beginning of a file only. One of text is several lines of evidence, so that prose, notes, code
and logs that merely resemble a format are read. The formats that have a reader are recognised by that reader.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bigtopic.errors import InputError, argument

__all__ = ["SIGNATURES", "Signature", "refuse_foreign"]

_PAGES = (".html", ".htm", ".xhtml")


@dataclass(frozen=True)
class Signature:
    """A format that is refused.

    what : the format, with its article
    remedy, command : what to do, and one command or expression that does it, if there is one; FILE stands for the file
    matches : whether a file begins like this; leading white space and a byte-order mark are stripped
    binary : no text begins so, whatever the name of the file
    always : `format=` does not override it
    """

    what: str
    remedy: str
    command: str
    matches: Callable[[bytes], object]
    binary: bool = False
    always: bool = False


def refuse_foreign(path: str, sample: bytes, *, text: bool = True, forced: bool = False) -> None:
    """Refuse a file that begins like a format without a reader.

    Parameters
    ----------
    path, sample : of the file
    text : nothing but the lack of another format says that it is text; otherwise only bytes and markup count
    forced : the caller named the format, so only pickles are refused

    Raises
    ------
    InputError
        Names the format and what to do.
    """
    begin = sample.removeprefix(b"\xef\xbb\xbf").lstrip()
    looked_for = (one for one in (_FORCED if forced else SIGNATURES) if text or one.binary)
    found = next((one for one in looked_for if one.matches(begin)), None)
    if found is None and not forced and path.lower().endswith(_PAGES) and _TAG.match(begin):
        found = _PAGE
    if found is None:
        return
    # A command for a shell, or an expression of Python, in which FILE is in quotation marks.
    filled = found.command.replace("'FILE'", repr(path)).replace("FILE", shlex.quote(path))
    command = f": {filled}" if filled else ""
    override = f" (or name its format with {argument('format', ...)} to read it as it is)"
    raise InputError(f"{path} is {found.what}; {found.remedy}{command}{'' if found.always else override}")


def _begins(pattern: bytes, flags: int = 0) -> Callable[[bytes], object]:
    return re.compile(pattern, flags | re.MULTILINE).match


def _element(name: bytes) -> Callable[[bytes], object]:
    """The root element and a first element in it, after a prologue and comments, if there are any."""
    return _begins(
        rb"(?:<\?.*?\?>\s*|<!--.*?-->\s*)*+(?:<!doctype[^>\[]*(?:\[.*?\])?>\s*)?(?:<!--.*?-->\s*)*+"
        rb"<(?:" + name + rb")(?:\s[^<>]*)?>\s*(?:<!--.*?-->\s*)*+<",
        re.DOTALL | re.IGNORECASE,
    )


# What says of itself that it is markup; a fragment, or a corpus with its own tags, is text unless named otherwise.
_TAG = re.compile(rb"<(?:!--|[a-z][\w:.-]*(?:\s[^<>]*)?>)", re.IGNORECASE)
_MARKUP = re.compile(
    rb"(?:<!--.*?-->\s*)*+<(?:(\?xml|!doctype|[a-z][\w:.-]*\s[^<>]*?\bxmlns(?=[:=]))|(html|head|body|title|meta))\b",
    re.IGNORECASE | re.DOTALL,
)
_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body|title|meta)\b", re.IGNORECASE)
_STRIP = "its tags would become words: extract the text first"


def _is_markup(begin: bytes) -> bool:
    found = _MARKUP.match(begin)
    return found is not None and bool(found[1] or b"</" + found[2].lower() in begin.lower())


def _is_html(begin: bytes) -> bool:
    return begin.startswith(b"<") and _is_markup(begin) and _HTML.search(begin[:4096]) is not None


def _lines(begin: bytes, limit: int = 200) -> list[bytes]:
    """The first lines; a last one that may be cut is left out if there are many."""
    lines = begin.rstrip().split(b"\n", limit)
    return lines[:-1] if len(lines) > limit else lines


def _counts_its_lines(begin: bytes) -> bool:
    """A number alone, and then as many lines of several words (as many as are seen, at least, of a long file)."""
    head, _, rest = begin.partition(b"\n")
    if not (head.strip().isdigit() and len(head) < 12):
        return False
    texts = rest.rstrip(b"\r\n").split(b"\n")
    spaced = all(len(line.split()) > 1 for line in texts[:20])
    letters = sum(re.search(rb"[^\W\d]|[\x80-\xff]", line) is not None for line in texts[:20])
    seen_whole = len(begin) < 1 << 16
    enough = len(texts) == int(head) if seen_whole else len(texts) <= int(head)
    return spaced and enough and len(texts) > 1 and 2 * letters > len(texts[:20])


def _double_colons(begin: bytes) -> bool:
    """Three lines or more, each divided into as many fields, three or more, by `::`."""
    if b"::" not in begin.partition(b"\n")[0]:
        return False
    lines = _lines(begin)
    return len(lines) > 2 and {line.count(b"::") for line in lines} in ({n} for n in range(2, 20))


_VECTOR = re.compile(rb"\S+(?:[ \t]+-?\d+\.\d+(?:e-?\d+)?){10,}\s*", re.IGNORECASE)
_SIZES = re.compile(rb"\d+ \d+\s*")  # of words and of columns, in the first line


def _are_vectors(begin: bytes) -> bool:
    """Lines of a word and as many numbers, ten or more; a last one may be cut."""
    lines = _lines(begin, 20)
    lines = lines[:-1] if len(lines) > 3 else lines
    if lines and _SIZES.fullmatch(lines[0]):
        lines = lines[1:]
    alike = len({len(line.split()) for line in lines}) == 1
    return len(lines) > 1 and alike and all(map(_VECTOR.fullmatch, lines))


def _is_dictionary(begin: bytes) -> bool:
    """Lines of a number, a word and how many documents have it, each number and word once."""
    lines = [line.rstrip(b"\r").split(b"\t") for line in _lines(begin)]
    if lines and len(lines[0]) == 1 and lines[0][0].isdigit():
        lines = lines[1:]
    if len(lines) < 3 or any(len(line) != 3 or not (line[0] + line[2]).isdigit() for line in lines):
        return False
    numbers, words = ({line[i] for line in lines} for i in (0, 1))
    return len(numbers) == len(words) == len(lines) and not all(word.isdigit() for word in words)


def _are_labelled(begin: bytes) -> bool:
    """Lines of a label that others share, a tab, and a text."""
    lines = [line.split(b"\t") for line in _lines(begin)]
    if len(lines) < 5 or any(len(line) != 2 or b" " in line[0] or not line[0] for line in lines):
        return False
    spaced = sum(b" " in text.strip() for _, text in lines)
    return 2 * len({label for label, _ in lines}) <= len(lines) and 2 * spaced > len(lines)


_ROW = re.compile(rb"[+-]?\d+(?:\.\d+)?(?:[ \t,;]+[+-]?\d+(?:\.\d+)?){2,}\s*")


def _are_rows_of_numbers(begin: bytes) -> bool:
    """Three lines or more, each of as many numbers, three or more."""
    lines = _lines(begin)
    alike = len({len(re.split(rb"[ \t,;]+", line.strip())) for line in lines}) == 1
    return len(lines) > 2 and alike and all(map(_ROW.fullmatch, lines))


_LATEX = re.compile(rb"(?:\s*%[^\n]*\n)*\s*\\document(?:class|style)\b")


def _has_member(names: bytes) -> Callable[[bytes], bool]:
    """A ZIP archive with a member below these folders."""
    member = re.compile(rb"PK\x03\x04.{26}" + names, re.DOTALL)
    return lambda begin: begin.startswith(b"PK\x03\x04") and member.search(begin) is not None


_SAFE = "save texts as JSON Lines, and a matrix with scipy.sparse.save_npz: nothing pickled is ever loaded"
_CONVERT = "convert it to text"
_UNPACK = "unpack it and give the folder"
_TABLE = "read it and ingest the table"
_RECORDS = "convert it to records"
_ABSTRACT = argument("text_column", "AB")
_EXPORT = "export it as CSV, with a column of abstracts, from the database or a reference manager"
_SPEECH = "keep the spoken text"
_ELEMENTS = "take the texts out of their elements"
_PANDOC = "pandoc -t plain FILE -o texts.txt"
_JSON = "pandoc -f {0} -t csljson FILE | jq -c '.[]' > documents.jsonl"
_GREP = r"grep -vE -e '-->' -e '^([0-9]*|WEBVTT.*)[[:space:]]*$' FILE > text.txt"
_SOUP = "[tag.get_text() for tag in BeautifulSoup(open('FILE', encoding='latin-1'), 'html.parser')('{0}')]"


def _binary(pattern: bytes, what: str, remedy: str, command: str = "", always: bool = False) -> Signature:
    return Signature(what, remedy, command, _begins(pattern, re.DOTALL), binary=True, always=always)


def _archive(names: bytes, what: str, remedy: str, command: str = "") -> Signature:
    return Signature(what, remedy, command, _has_member(names), binary=True)


def _text(matches: bytes | Callable[[bytes], object], what: str, remedy: str, command: str = "") -> Signature:
    return Signature(what, remedy, command, _begins(matches) if isinstance(matches, bytes) else matches)


# fmt: off
SIGNATURES: Sequence[Signature] = (
    # Never loaded.
    _binary(rb"\x80[\x01-\x05]|\(?[ld]p\d+\r?\n"
            rb"|c(?:copy_reg|copyreg|__builtin__|\w+\.[\w.]+)\r?\n\w+\r?\n(?:p\d+\r?\n|\()",
            "a pickle", _SAFE, always=True),
    _binary(rb"x[\x01\x9c\xda][^\n]{0,20}[\x00\x80-\xff]", "a zlib stream, as joblib compresses pickles", _SAFE,
            always=True),
    _binary(rb"\xac\xed\x00\x05", "serialized Java, such as MALLET's instances",
            "ingest the text that it was imported from", always=True),
    # Bytes.
    _binary(rb"%PDF-", "a PDF file", _CONVERT, "pdftotext FILE"),
    _binary(rb"\{\\rtf", "an RTF file", _CONVERT, _PANDOC),
    _archive(rb"word/", "a Word document (DOCX)", _CONVERT, _PANDOC),
    _archive(rb"mimetypeapplication/epub", "an EPUB book", _CONVERT, _PANDOC),
    _archive(rb"mimetypeapplication/vnd", "an OpenDocument file", _CONVERT, _PANDOC),
    _archive(rb"xl/", "an Excel workbook", "call it NAME.xlsx, or export its sheet as CSV",
             "libreoffice --convert-to csv FILE"),
    _binary(rb"PK\x03\x04", "a ZIP archive (or an office document)", _UNPACK, "unzip FILE"),
    Signature("a tar archive", _UNPACK, "tar -xf FILE", lambda begin: begin[257:262] == b"ustar", binary=True),
    _binary(rb"7z\xbc\xaf", "a 7z archive", _UNPACK, "7z x FILE"),
    _binary(rb"Rar!", "a RAR archive", _UNPACK, "unrar x FILE"),
    _binary(rb"\x04\x22\x4d\x18", "a file compressed with LZ4", "decompress it", "lz4 -d FILE"),
    _binary(rb"\x89PNG", "a PNG image", "leave it out of the source"),
    _binary(rb"GIF8[79]a", "a GIF image", "leave it out of the source"),
    _binary(rb"\xff\xd8\xff", "a JPEG image", "leave it out of the source"),
    _binary(rb"AT&TFORM", "a DjVu file", _CONVERT, "djvutxt FILE text.txt"),
    _binary(rb"%!PS", "a PostScript file", _CONVERT, "ps2ascii FILE text.txt"),
    _binary(rb"\xd0\xcf\x11\xe0", "an office document", "convert it to text, or a sheet to CSV",
            "libreoffice --convert-to txt FILE"),
    _binary(rb"SQLite format 3", "a SQLite database", "export its table as CSV",
            "sqlite3 -header -csv FILE 'SELECT * FROM documents' > documents.csv"),
    _binary(rb"\x89HDF\r\n\x1a\n", "an HDF5 file of unknown layout", "save its matrix as AnnData, or with save_npz"),
    _binary(rb"ARROW1\x00\x00|FEA1", "an Arrow (Feather) file", _TABLE, "pandas.read_feather('FILE')"),
    _binary(rb"ORC[\x00-\x1f\x80-\xff]", "an ORC file", _TABLE, "pandas.read_orc('FILE')"),
    _binary(rb"Obj\x01", "an Avro file", "convert it to JSON Lines", "fastavro FILE > documents.jsonl"),
    _binary(rb"\$FL[23]@", "an SPSS file", _TABLE, "pandas.read_spss('FILE')"),
    _binary(rb"<stata_dta>|[\x6c-\x73][\x01\x02]\x01\x00", "a Stata file", _TABLE, "pandas.read_stata('FILE')"),
    _binary(rb"HEADER RECORD\*{7}LIB", "a SAS file", _TABLE, "pandas.read_sas('FILE', format='xport')"),
    _binary(rb"RD[AX][23]\n|X\n\x00\x00\x00[\x02\x03]\x00|A\n[23]\n\d{5,7}\n", "an R file (RDS or RData)",
            "write its table or matrix in R", "write.csv(x, 'x.csv') or Matrix::writeMM(x, 'x.mtx')"),
    # Markup.
    _text(_element(rb"TEI(?:\.2)?|teiCorpus"), "a TEI file", _CONVERT,
          "xmllint --xpath 'string(//*[local-name()=\"text\"])' FILE > text.txt"),
    _text(_element(rb"article|pmc-articleset"), "a file of articles in XML (JATS)", _CONVERT,
          "pandoc -f jats -t plain FILE -o text.txt"),
    _text(_element(rb"REUTERS"), "a file of Reuters' SGML", _ELEMENTS, _SOUP.format("body")),
    _text(rb"<doc id=\"[^\n>]*\burl=\"[^\n>]*\btitle=\"[^\n]*\">\n", "the output of WikiExtractor",
          "write it as JSON Lines", "wikiextractor --json DUMP"),
    _text(_begins(rb"<DOC>\s*\n\s*<DOCNO>", re.IGNORECASE), "a file of TREC's SGML", _ELEMENTS, _SOUP.format("text")),
    _text(_element(rb"PubmedArticleSet|dblp|rss|feed|corpus|FictionBook|svg|opml"), "an XML file", _STRIP),
    Signature("an HTML page", _STRIP, _PANDOC, _is_html, binary=True),
    Signature("a file of markup (HTML, XML or SGML)", _STRIP, "", _is_markup, binary=True),
    _text(lambda begin: _LATEX.match(begin) and b"\\begin{document}" in begin,
          "a LaTeX file", "its commands would become words: convert it to text",
          "pandoc -f latex -t plain FILE -o text.txt"),
    _text(rb"\{\s*\"(?:cells|metadata|nbformat\w*)\":(?s:.*?)\"cell_type\"", "a Jupyter notebook", _CONVERT,
          "jupyter nbconvert --to markdown FILE"),
    # References.
    _text(rb"TY  - \w+\s*\n(?:[A-Z][A-Z0-9]  -[^\n]*\n\s*){2}", "a file of references (RIS)", _RECORDS,
          _JSON.format("ris")),
    _text(rb"(?:%[^\n]*\n\s*)*@\w+\s*[{(]\s*[^\s,=]+\s*,\s*\n?\s*\w+\s*=\s*[\"{\w]",
          "a file of references (BibTeX)", _RECORDS, _JSON.format("bibtex")),
    _text(rb"FN [^\n]*\nVR 1\.\d\s*\n|PT [A-Z]\r?\nA[UF] ", "an export of Web of Science",
          f"export it as a tab-delimited file, name that .tsv, and set {_ABSTRACT}"),
    _text(rb"PT\tA[UC]\t[^\n]*\tTI\t", "a table of Web of Science", f"name it .tsv, and set {_ABSTRACT}"),
    _text(rb"PMID- *\d+\s*\n[A-Z]{2,4} *- ", "a file of references (MEDLINE)", _EXPORT),
    _text(rb"%0 \w[^\n]*\n(?:%[A-Z0-9@!] [^\n]*\n){2}", "a file of references (EndNote)", _EXPORT),
    # Speech.
    _text(rb"\d+\s*\n\d\d:\d\d:\d\d[,.]\d{3} --> \d\d:\d\d", "a file of subtitles (SRT)", _SPEECH, _GREP),
    _text(rb"WEBVTT\b[^\n]*\n(?:[^\n]*\n){0,20}?(?:\d+:)?\d\d:\d\d\.\d{3} --> ", "a file of subtitles (WebVTT)",
          _SPEECH, _GREP),
    # Of other programs.
    _text(rb"#doc source pos typeindex type topic\s", "the state of a model of MALLET", "read the model",
          "bt.foreign.from_mallet('FILE')"),
    _text(rb"(?:\d+\t\d*\.\d+(?:E-?\d+)?\t[^\t\n]+(?:\n|\Z)){2}", "a list of MALLET's topic keys",
          "read the model from its state", "bt.foreign.from_mallet('state.gz')"),
    _text(rb"(?:__label__\S+[ \t][^\n]*(?:\n|\Z)){2}", "a fastText file", "its labels would become words: remove them",
          r"sed -E 's/^(__label__\S+\s+)+//' FILE > texts.txt"),
    _text(_counts_its_lines, "a text with the number of its documents in its first line, as for GibbsLDA++",
          "remove that line", "tail -n +2 FILE > texts.txt"),
    _text(_are_rows_of_numbers, "a table of numbers", "if its rows are document, word and count, name it .tsv and say "
          f"which with {argument('document_column')}, {argument('word_column')} and {argument('count_column')}; if it "
          "has a column of counts for each word, ingest the array", "numpy.loadtxt('FILE')"),
    _text(_are_vectors, "a file of word vectors", "ingest the texts that they were learned from"),
    _text(_is_dictionary, "a dictionary of gensim", "give it beside the counts, as the vocabulary",
          "sort -n FILE | awk -F'\\t' 'NF > 1 {print $2}' > words.txt"),
    _text(_are_labelled, "a table of a label and a text in each line", "its labels would become words: name it .tsv",
          "mv FILE texts.tsv"),
    _text(_double_colons, "a table with cells between '::'", "put tabs between them",
          r"sed 's/::/\t/g' FILE > table.tsv"),
)
# fmt: on
"""In order: the first that matches is the one."""
_FORCED = tuple(signature for signature in SIGNATURES if signature.always)
_PAGE = next(signature for signature in SIGNATURES if signature.what == "an HTML page")
