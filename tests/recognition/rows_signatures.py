"""Files that are text for want of another format: read by the format's own reader, refused, or really text."""

import json
import pickle
import tarfile
import zipfile
from io import BytesIO

from recognition.case import Case, Files, Read, Refused


def packed(*names, opened=zipfile.ZipFile):
    data = BytesIO()
    if opened is tarfile.open:
        with tarfile.open(fileobj=data, mode="w") as archive:
            for name in names:
                member = tarfile.TarInfo(name)
                member.size = 3
                archive.addfile(member, BytesIO(b"cat"))
    else:
        with zipfile.ZipFile(data, "w") as archive:
            for name in names:
                archive.writestr(name, "cat")
    return data.getvalue()


def read(name, file, content, *right, **options):
    return Case(name, Files({file: content}), Read(*right), options)


def refused(name, content, *message, file="a.txt", **options):
    return Case(name, Files({file: content}), Refused(message), options)


WIKI = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="de">
  <siteinfo><sitename>W</sitename><dbname>w</dbname><base>b</base><generator>g</generator><case>first-letter</case>
  <namespaces><namespace key="0" case="first-letter" /><namespace key="6" case="first-letter">Datei</namespace>
  <namespace key="14" case="first-letter">Kategorie</namespace></namespaces></siteinfo>
%s</mediawiki>
"""
PAGE = """  <page>
    <title>%s</title><ns>%d</ns><id>%d</id>%s
    <revision><id>1</id><timestamp>2020-01-01T00:00:00Z</timestamp><contributor><username>u</username><id>3</id>
      </contributor><model>wikitext</model><format>text/x-wiki</format>
      <text bytes="9" xml:space="preserve">%s</text><sha1>x</sha1></revision>
  </page>
"""
PAGES = [
    PAGE % ("Cat", 0, 1, "", "'''Cat''' [[animal|beast]] &lt;ref&gt;x&lt;/ref&gt; {{box|x=1}} [[Datei:a.jpg|thumb]]"),
    PAGE % ("Talk:Cat", 1, 2, "", "talk"),
    PAGE % ("Kitty", 0, 3, '<redirect title="Cat" />', "#REDIRECT [[Cat]]"),
    PAGE % ("Dog", 0, 4, "", "== Dog ==\n* barks\n[[Kategorie:Pet]]"),
]  # fmt: skip
OLD = [
    (PAGES[0] + PAGES[3]).replace("<ns>0</ns>", ""),
    (PAGE % ("Datei:Cat.jpg", 6, 2, "", "picture")).replace("<ns>6</ns>", ""),
    (PAGE % ("Kitty", 0, 3, "", "#redirect [[Cat]]")).replace("<ns>0</ns>", ""),
]
DUMP = Read(2, {"cat": 1, "beast": 1, "dog": 1, "barks": 1}, ids=["Cat", "Dog"], columns={})
MAIL = (
    "From a@b.c Mon May 14 23:39:00 2001\nMessage-ID: <1@b.c>\nFrom: Ann <a@b.c>\n"
    "Date: Mon, 14 May 2001 16:39:00 -0700\n"
    "Subject: =?utf-8?q?caf=C3=A9?=\nContent-Type: text/plain\n\ncat cat\n>From here\n\nFrom there it is prose.\n\n"
    "From d@b.c Tue May 15 23:39:00 2001\nMessage-ID: <2@b.c>\nFrom: d@b.c\nSubject: dog\n"
    "Content-Type: text/html; charset=latin-1\n\n<p>runs<style>p {}</style></p>\n"
)
MAIL_PAIR = "".join(
    f"From {who} Mon May 14 23:39:00 2001\nMessage-ID: <{i}@b.c>\nFrom: {who}\n\n{text}\n\n"
    for i, who, text in [(1, "a@b.c", "cat cat"), (2, "d@b.c", "dog")]
)
RECORDS = "TY  - JOUR\nAU  - Ann\nTI  - Cats\nAB  - About cats\nER  - \n"
REVIEWS = "1::10::5::978300760\n1::20::3::978302109\n2::30::3::978301968\n"
VECTORS = "".join(f"{word}{' 0.25 -1.5 3e-05'.replace('3e', '3.1e') * 4}\n" for word in ("cat", "dog", "sea"))
PAIR = {"cat": 2, "dog": 1}

CASES = [
    # --- read by a reader
    Case("a MediaWiki dump", Files({"dump.xml": WIKI % "".join(PAGES)}), DUMP),
    Case("a MediaWiki dump with a prologue", Files({"x": '<?xml version="1.0"?>\n' + WIKI % "".join(PAGES)}), DUMP),
    Case("an old MediaWiki dump, without numbers of namespaces",
         Files({"x": WIKI % "".join(OLD)}), DUMP),
    Case("a folder of MediaWiki dumps",
         Files({"1.xml": WIKI % "".join(PAGES[:2]), "2.xml": WIKI % "".join(PAGES[2:])}), DUMP),
    Case("a MediaWiki dump with templates nested too deeply",
         Files({"x": WIKI % (PAGES[3] + PAGE % ("Deep", 0, 5, "", "{{" * 2000 + " cat " + "}}" * 2000))}),
         Read(2, {"dog": 1, "barks": 1, "cat": 1}, ids=["Dog", "Deep"], columns={})),
    refused("a MediaWiki dump cut short", (WIKI % "".join(PAGES))[:-200], "cut short"),
    read("MALLET's lines", "a.txt", "d1\ten\tcat cat\nd2\ten\ta dog\nd3\tfr\tle chat\n",
         3, {"cat": 2, "dog": 1, "chat": 1, "le": 1}, ["d1", "d2", "d3"], {"label": ["en", "en", "fr"]}),
    read("MALLET's lines with spaces, named", "a.txt", "d1 en cat cat\nd2 en the dog\n",
         2, {**PAIR, "the": 1}, ["d1", "d2"], {"label": ["en", "en"]}, format="mallet"),
    read("Vowpal Wabbit", "a.vw", "1 'a|w cat:2 dog\n-1 'b|w dog:3 |x cat\n",
         2, {"cat": 3, "dog": 4}, ["a", "b"], {"label": [1.0, -1.0]}),
    read("Vowpal Wabbit for topics", "a.txt", "| cat:2 dog:1\n| dog:4\n", 2, {"cat": 2, "dog": 5}, None, {}),
    read("Vowpal Wabbit with texts", "a.txt", "1 |text cat dog\n0 |text dog\n",
         2, {"cat": 1, "dog": 2}, None, {"label": [1.0, 0.0]}),
    read("Vowpal Wabbit with signed labels", "a.txt", "+1 | cat dog\n-1 | dog\n",
         2, {"cat": 1, "dog": 2}, None, {"label": [1.0, -1.0]}),
    # In the square of the digits, this would take minutes
    read("a line of digits", "a.txt", "7" * 100_000 + "x cat\n", 1, None),
    read("a line with a count of many digits", "a.txt", "cat:" + "7" * 100_000 + "x cat\n", 1, None),
    Case("a folder of word counts (JSTOR)",
         Files({"1-ngram1.txt": "cat\t2\ndog\t1\nthe\t1\n", "2-ngram1.txt": "dog\t3\nthe\t1\nsea\t1\n"}),
         Read(2, {"cat": 2, "dog": 4, "the": 2, "sea": 1}, ids=["1-ngram1", "2-ngram1"], columns={})),
    read("counts of pairs of words (JSTOR)", "x-ngram2.txt", "of the\t9\nin the\t4\nthe cat\t1\n",
         1, {"of the": 9, "in the": 4, "the cat": 1}, ["x-ngram2"]),
    read("a mailbox", "a.mbox", MAIL,
         2, {"café": 1, "cat": 2, "from": 2, "here": 1, "there": 1, "it": 1, "is": 1, "prose": 1, "dog": 1, "runs": 1},
         ["1@b.c", "2@b.c"], {"from": ["Ann <a@b.c>", "d@b.c"], "date": ["2001-05-14T23:39:00", ""]}),
    read("a mailbox with Windows line ends", "a.mbox", MAIL.replace("\n", "\r\n"),
         2, None, ["1@b.c", "2@b.c"]),
    read("MALLET's lines with spaces, by name", "a.mallet", "d1 en cat cat\nd2 en the dog\n",
         2, {**PAIR, "the": 1}, ["d1", "d2"], {"label": ["en", "en"]}),
    refused("Vowpal Wabbit with counts without words", "1 |a :1 :2\n0 |a cat:2 :2\n", "line 1"),
    # --- what other programs write beside documents
    refused("word vectors", VECTORS, "word vectors", "learned from"),
    refused("word vectors with their number", f"3 12\n{VECTORS}", "word vectors"),
    refused("word vectors longer than what is looked at", "20 300\n" + "".join(
        f"word{i}{' -1.671300083398818970e-02' * 300}\n" for i in range(40)), "word vectors"),
    read("texts with many numbers", "a.txt", "paid 1.5 2.5 and 3.5\nat 1.0 or 2.0 times\n", 2, None),
    refused("a dictionary of gensim", "0\tcat\t3\n1\tdog\t2\n2\tsea\t2\n", "a dictionary of gensim", "sort -n"),
    refused("the same with its number of documents", "9\n0\tcat\t3\n1\tdog\t2\n2\tsea\t2\n", "gensim"),
    refused("a vocabulary in JSON", json.dumps({f"word{i}": i for i in range(20)}), "a vocabulary", "vocabulary=",
            file="vocab.json"),
    read("a document of counts in JSON", "a.jsonl", '{"cat": 1, "dog": 2}\n', 1, {"cat": 1, "dog": 2}),
    refused("labels and texts", "ham\tsee you\nspam\twin a car\n" * 4, "a label and a text", "name it .tsv"),
    read("labels and texts, named", "a.tsv", "ham\tsee you\nspam\twin a car\n" * 4, 8, None, None,
         {"0": ["ham", "spam"] * 4}),
    read("lines of which some have a tab", "a.txt", "ham\tsee you\nspam and eggs\n" * 4, 8, None),
    refused("a few labels and texts", "ham\tsee you\nspam\twin a car\nham\tgo on\nham\tof course\nspam\tbuy it\n",
            "a label and a text"),
    refused("ratings without a header",
            "196\t242\t3\t881250949\n186\t302\t3\t891717742\n22\t377\t1\t878887116\n", "a table of numbers",
            "document_column", "loadtxt", file="u.data"),
    refused("rows of counts", "1 2 6 0 2\n1 3 0 1 3\n1 4 1 0 0\n", "a table of numbers"),
    read("texts of numbers", "a.txt", "12 45 12 77\n12 77\n45 45 45\n", 3, {"12": 3, "45": 4, "77": 2}),
    refused("WikiExtractor", '<doc id="1" url="u" title="A">\nA\n\nsome text here\n</doc>\n' * 3,
            "WikiExtractor", "--json"),
    refused("a notebook in one line", '{"cells": [{"cell_type": "code", "source": ["x"]}], "nbformat": 4}', "notebook",
            file="a.json"),
    refused("OpenAlex", '{"id": "W1", "title": "Nets", "abstract_inverted_index": {"We": [0], "do": [1, 3]}}\n' * 3,
            "map_values(length)", file="works.jsonl"),
    read("OpenAlex with counts", "w.jsonl",
         '{"id": "W1", "title": "x", "counts": {"we": 1}, "abstract_inverted_index": {}}\n', 1, {"we": 1}, ["W1"]),
    refused("XML of a namespace without a prologue", '<settings xmlns="http://a.b/c"\n  x="y">\n<id>a</id></settings>',
            "markup"),
    read("a mailbox whose senders are the authors", "a.mbox", MAIL,
         2, None, ["1@b.c", "2@b.c"], {"date": ["2001-05-14T23:39:00", ""]}, [["Ann <a@b.c>"], ["d@b.c"]],
         author_column="from"),
    read("a mailbox, one column kept", "a.mbox", MAIL,
         2, None, ["1@b.c", "2@b.c"], {"from": ["Ann <a@b.c>", "d@b.c"]}, columns=["from"]),
    read("a mailbox with ids beside it", "a.mbox", MAIL, 2, None, ["x", "y"], ids=["x", "y"]),
    read("a mailbox with senders among the text", "a.mbox", MAIL_PAIR,
         2, {"a": 1, "b.c": 2, "d": 1, "cat": 2, "dog": 1}, ["1@b.c", "2@b.c"], {"date": ["", ""]},
         text_column=["text", "from"], token_pattern=r"[\w.]+"),
    read("a mailbox in parts", "a.mbox", MAIL_PAIR, 3, {"cat": 2, "dog": 1}, ["1@b.c#1", "1@b.c#2", "2@b.c#1"],
         {"from": ["a@b.c", "a@b.c", "d@b.c"], "date": ["", "", ""], "parent": ["1@b.c", "1@b.c", "2@b.c"]},
         split_documents=1),
    read("a mailbox with a subject of many lines", "a.mbox",
         MAIL_PAIR.replace("\n\n", "\nSubject: cat\n" + " dog\n" * 50_000 + "\n", 1), 2, {"cat": 3, "dog": 50_001}),
    read("a mailbox with a content type of many parameters", "a.mbox",
         MAIL_PAIR.replace("\n\n", f"\nContent-Type: text/plain{'; a=b' * 10_000}\n\n", 1), 2, {"cat": 2, "dog": 1}),
    *(refused(f"a mailbox with messages of {what}", MAIL_PAIR.replace("\n\n", f"\n{parts}\n\n", 1),
              "a.mbox, line 1: the parts of this message are nested too deeply", file="a.mbox")
      for what, parts in {
          "messages": "Content-Type: message/rfc822\n\n" * 2000,
          "parts": "".join(f"Content-Type: multipart/mixed; boundary=B{i}\n\n--B{i}\n" for i in range(2000)),
      }.items()),
    read("a mailbox, named", "a.txt", MAIL_PAIR, 2, {"cat": 2, "dog": 1}, format="mbox"),
    refused("a mailbox and a field that messages lack", MAIL, "no field named 'body'", "id, text, from, date",
            file="a.mbox", text_column="body"),
    # --- never
    refused("a pickle", pickle.dumps(["cat"]), "a pickle", "JSON Lines"),
    refused("a pickle of protocol 0", pickle.dumps(["cat"], 0), "a pickle"),
    refused("a pickle, named text", pickle.dumps(["cat"], 0), "a pickle", format="text"),
    refused("a pickle in latin-1, named text", pickle.dumps(["cat"]), "a pickle", format="text", encoding="latin-1"),
    Case("a pickle among files", Files({"a.txt": "cat", "b.pkl": pickle.dumps(["cat"], 0)}), Refused("a pickle"),
         {"format": "files"}),
    refused("serialized Java", b"\xac\xed\x00\x05sr\x00\x0bcat", "MALLET"),
    # --- bytes
    refused("a Word document", packed("[Content_Types].xml", "word/document.xml"), "DOCX", "pandoc -t plain "),
    refused("an EPUB book", packed("mimetype").replace(b"cat", b"application/epub+zip"), "EPUB", "pandoc"),
    refused("a ZIP archive", packed("cat.txt"), "ZIP", "unzip"),
    refused("a tar archive", packed("cat.txt", opened=tarfile.open), "tar archive", "tar -xf"),
    refused("an Arrow file", b"ARROW1\x00\x00\xff\xff", "Arrow", "read_feather"),
    refused("an ORC file", b"ORC\x0a\x03\x00", "ORC", "read_orc"),
    refused("an Avro file", b"Obj\x01\x04\x14", "Avro", "fastavro"),
    refused("an SPSS file", b"$FL2@(#) SPSS DATA FILE", "SPSS", "read_spss"),
    refused("a Stata file", b"<stata_dta><header>", "Stata", "read_stata"),
    refused("an RDS file", b"X\n\x00\x00\x00\x03\x00", "RDS", "write.csv"),
    refused("an RData file", b"RDX3\nX\n\x00", "RData", "writeMM"),
    refused("a DjVu file", b"AT&TFORM\x00", "DjVu", "djvutxt"),
    # --- markup
    refused("TEI", '<TEI xmlns="http://www.tei-c.org/ns/1.0">\n<text>cat</text>\n</TEI>\n', "TEI", "xmllint"),
    refused("TEI with a prologue", '<?xml version="1.0"?>\n<TEI xmlns="x">\n<text>cat</text>\n</TEI>\n', "TEI"),
    refused("JATS", '<article xmlns:xlink="x">\n<body><p>cat</p></body>\n</article>\n', "JATS", "pandoc -f jats"),
    refused("Reuters", '<!DOCTYPE lewis SYSTEM "lewis.dtd">\n<REUTERS ID="1">\n<BODY>cat</BODY>\n</REUTERS>\n',
            "Reuters", "BeautifulSoup"),
    refused("Reuters without a prologue", '<REUTERS ID="1">\n<BODY>cat</BODY>\n</REUTERS>\n', "Reuters"),
    refused("TREC", "<DOC>\n<DOCNO> 1 </DOCNO>\n<TEXT>\ncat\n</TEXT>\n</DOC>\n", "TREC", "BeautifulSoup"),
    refused("LaTeX", "% hi\n\\documentclass{article}\n\\begin{document}\ncat\n\\end{document}\n", "LaTeX", "pandoc"),
    refused("a notebook", '{\n "cells": [\n  {\n   "cell_type": "markdown",\n   "source": ["cat"]\n  }\n ]\n}\n',
            "notebook", "nbconvert", file="a.ipynb"),
    # --- references and subtitles
    refused("RIS", RECORDS, "RIS", "pandoc -f ris"),
    refused("RIS with Windows line ends", RECORDS.replace("\n", "\r\n"), "RIS"),
    Case("a folder of RIS", Files({"a.ris": RECORDS, "b.ris": RECORDS}), Refused("RIS")),
    refused("BibTeX", "@article{cat1999,\n  title = {Cats},\n  year = 1999\n}\n", "BibTeX", "pandoc -f bibtex"),
    refused("Web of Science", "FN Clarivate Analytics\nVR 1.0\nPT J\nAU Ann\nAB cat\nER\n", "Web of Science"),
    refused("Web of Science in a table", "PT\tAU\tBA\tTI\tAB\nJ\tAnn\t\tCats\tcats\n", ".tsv", "text_column='AB'"),
    refused("MEDLINE", "PMID- 123\nOWN - NLM\nTI  - Cats\n", "MEDLINE"),
    refused("EndNote", "%0 Journal Article\n%T Cats\n%A Ann\n", "EndNote"),
    refused("SRT", "1\n00:00:01,000 --> 00:00:02,000\nA cat.\n\n2\n00:00:03,000 --> 00:00:04,000\nA\n", "SRT", "grep"),
    refused("WebVTT", "WEBVTT\n\n00:01.000 --> 00:04.000\nA cat.\n", "WebVTT"),
    # --- other models
    refused("MALLET's state", "#doc source pos typeindex type topic\n#alpha : 0.1\n0 NA 0 0 cat 1\n", "from_mallet"),
    refused("MALLET's topic keys", "0\t0.5\tcat dog \n1\t0.5\tsea ship \n2\t0.5\tsun moon \n", "topic keys"),
    refused("GibbsLDA++", "3\ncat dog\ndog dog sun\nsun cat\n", "GibbsLDA++", "tail -n +2 "),
    refused("fastText", "__label__a cat dog\n__label__b __label__c dog\n", "fastText", "sed"),
    refused("cells between double colons", REVIEWS, "'::'", "sed"),
    read("cells between double colons, named text", "a.dat", REVIEWS, 3, None, None, {}, format="text"),
    Case("RIS, named text", Files({"a.txt": RECORDS}), Read(5), {"format": "text"}),
]  # fmt: skip

# --- what merely resembles one of these is text: a document per line
PROSE = {
    "Markdown": "# Cats\n\n* one\n* two\n\n| a | b |\n| --- | --- |\n| cat | dog |\n",
    "a table of Markdown": "| a | b |\n|---|---|\n| cat:2 | dog:1 |\n",
    "a table of Markdown without outer bars": "cat | dog\n--- | ---\n1 | 2:3\n",
    "lines with bars": "cat | dog\nsun | moon | stars\n",
    "signed numbers and bars": "+1 | the cat sat\n+2 | the dog ran\n",
    "numbers and bars": "1 | the cat sat\n2 | the dog ran\n",
    "a poem": "The sea is calm tonight.\nThe tide is full, the moon lies fair\n",
    "a numbered poem": "14\nNot from the stars do I my judgment pluck;\nAnd yet methinks\n",
    "a number and one line": "1\nThe only chapter of it\n",
    "a number and numbers": "3\n1 cat\n2\n3 4\n",
    "a list with colons": "cat: an animal\ndog: another one\nfrom: nowhere\n",
    "a dictionary": "cat :: animal\ndog :: animal, too :: pet\n",
    "code with double colons": "#include <map>\nstd::map<std::string, int> m;\nstd::cout << m.size() << std::endl;\n",
    "C": "/* cats */\nint main(void) {\n  return 0;\n}\n",
    "Python": "@cache\ndef f(x):\n    return x\n",
    "Java": "@Override\npublic void run() {\n}\n",
    "mentions": "@ann have you seen the cat\n@bob no, {really}\n",
    "an address": "@article is a word here\nand nothing more\n",
    "a chat": "10:01 ann: hello\n10:02 bob: hello yourself\n",
    "a chat with tabs": "10:01\tann\thello there\n10:01\tbob\thello yourself\n10:02\tann\tbye now\n",
    "a chat with arrows": "ann --> bob: 00:01:02 is the time\n",
    "percent": "% of people like cats\n%0 is nothing\n",
    "tags": "<3 cats\n<b>dogs</b> too\n" + "and birds\n" * 20,
    "angle brackets": "<ann> hello\n<bob> hello\n<ann> bye\n",
    "articles in a sentence": "<article> is an element\nof HTML\n",
    "documents with tags of their own": "<doc> cat </doc>\n<doc> dog </doc>\n",
    "numbers": "1 2 3\n42 cats\n",
    "titles and years": "The cat\t1999\nThe dog\t2005\nThe sun\t2001\n",
    "words and years in sentences": "In 1999 the cat\t sat\nIn 2001 the dog ran\n",
    "a log": "2020-01-01 10:00:00,000 INFO [main] cat started\n2020-01-01 10:00:01,000 WARN [main] dog\n",
    "letters from someone": "From Ann to Bob, 10:01 in 2001\nDear Bob, the cat\n",
    "from my window": "From my window, I see cats\nand dogs\n",
    "a newsgroup message": "From: ann@b.c\nSubject: cats\nDate: 14 May 2001\n\nA cat.\n",
    "a command of LaTeX": "\\documentclass is a command\nof LaTeX\n",
    "braces": '{ "cells": are here\nand there\n',
    "abbreviations": "TY  is for thank you\nER  is a room\n",
    "a pair of letters": "PT J\nand then prose\n",
    "ORC": "ORCs and elves\nfight\n",
    "a shout": "Objection!\nPK is short\nBut GIF89 is long\n",
    "lists and cats": "lp0 is a printer\ncats\nrun\n(quickly)\n",
    "cats and dots": "cats\nrun\n(away)\n",
    "web": "WEBVTT is a format\nof subtitles\n",
    "labels": "__label__ is a prefix\n__init__ is another\n",
    "MALLET's lines with spaces": "1. The cat sat\n2. The dog ran\n3. The sun set\n",
    "a header and tabs": "name\tkind\ttext\na\tb\tc d\ne\tb\tf g\n",
    "long dashes": "cat :: dog\n-- sun ::: moon\n",
    "quotes": "\u201cCats,\u201d she said.\n\u201cDogs,\u201d said he.\n",
}
CASES += [read(f"text: {name}", "a.txt", text, text.count("\n")) for name, text in PROSE.items()]
CASES.append(
    Case("a folder of what resembles other formats",
         Files({f"{i:02d}.txt": text for i, text in enumerate(PROSE.values())}), Read(len(PROSE)))
)  # fmt: skip
