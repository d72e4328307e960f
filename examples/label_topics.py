"""Name the topics of a model with a language model that runs on this machine.

    python examples/label_topics.py topics.zarr --corpus articles.zarr --language-model Qwen/Qwen2.5-0.5B-Instruct

Needs `pip install transformers torch`. A language model is downloaded once, by its name, or read from a folder; no word
of the corpus leaves the machine. It sees the words of a topic and the beginnings of some of its documents, and its
answer is cut to a few words. Look at the labels before you save them: small models make mistakes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import bigtopic as bt

PROMPT = """A topic model found a topic in a collection of texts.

Its most relevant words: {words}

Texts about it begin:
{documents}

Give the topic a short name, of one to four words. Answer with the name only."""
LONGEST = 60  # characters of a label
CHARACTERS = 300  # of each document


def prompt(words: Sequence[str], documents: Sequence[str]) -> str:
    """What the language model is asked about a topic."""
    beginnings = "\n".join(f"- {' '.join(text.split())[:CHARACTERS]}" for text in documents)
    return PROMPT.format(words=", ".join(words), documents=beginnings or "- (not kept)")


def label(answer: str) -> str:
    """The first line of an answer, without quotation marks and full stops, cut to a label."""
    lines = ["".join(filter(str.isprintable, line)).strip() for line in answer.splitlines()]
    lines = [line for line in lines if line]
    return lines[0].strip(" \"'*.`“”")[:LONGEST] if lines else ""


def namer(generate: Callable[[str], str]) -> Callable[[Sequence[str], Sequence[str]], str]:
    """A function of words and documents, as `set_topic_labels` takes it, from one that answers a prompt."""
    return lambda words, documents: label(generate(prompt(words, documents)))


def local_model(name: str) -> Callable[[str], str]:
    """A function that answers a prompt, by a model of the library transformers."""
    try:
        import torch  # noqa: F401  (transformers runs on it)
        from transformers import pipeline
    except ImportError as error:
        raise SystemExit(
            f"{error}: install the language model's library with: pip install transformers torch"
        ) from error

    answers = pipeline("text-generation", model=name)

    def generate(asked: str) -> str:
        messages = [{"role": "user", "content": asked}]
        return answers(messages, max_new_tokens=20, do_sample=False)[0]["generated_text"][-1]["content"]

    return generate


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="a model of bigtopic")
    parser.add_argument(
        "--corpus", help="its corpus, with texts, so that the language model sees documents, too"
    )
    parser.add_argument("--language-model", default="Qwen/Qwen2.5-0.5B-Instruct", help="a name, or a folder")
    parser.add_argument("--save", action="store_true", help="save the labels with the model")
    given = parser.parse_args()
    generate = local_model(given.language_model)  # first: it may be missing
    model = bt.load_model(given.model)
    model.set_topic_labels(namer(generate), given.corpus)
    for topic, name in enumerate(model.topic_labels_):
        print(topic, name)
    if given.save:
        model.save(given.model, overwrite=True)


if __name__ == "__main__":
    main()
