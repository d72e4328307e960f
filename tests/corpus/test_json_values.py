"""Files of JSON that is not one value to a line: wherever they are cut, the values are those that `json` reads."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigtopic.corpus.readers.containers import pieces
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.formats.json_lines import Layout, ValueStream, layout_of, values_of

TEXT = st.text(st.sampled_from('ab"\\[]{},:\n é\u2028'), max_size=8)
PLAIN = TEXT | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False, allow_infinity=False)
VALUE = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8
)
OBJECTS = st.lists(st.dictionaries(TEXT, VALUE, max_size=3), min_size=1, max_size=8)


def values(path, layout):
    found = []
    for chunk in ValueStream(File(str(path)), layout, whole=True).chunks():
        data = path.read_bytes()[chunk.start : chunk.stop].decode()
        some = [value for _, value in values_of(data, layout.array, chunk.begins)]
        assert len(some) == chunk.n_docs
        found += some
    return found


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("array", [True, False])
@settings(deadline=None, max_examples=30)
@given(objects=OBJECTS, target=st.integers(1, 40), escaped=st.booleans())
def test_values_are_those_that_json_reads(array, indent, objects, target, escaped, tmp_path_factory):
    path = tmp_path_factory.mktemp("json") / "x.json"
    if array:
        path.write_text(json.dumps(objects, indent=indent, ensure_ascii=escaped), encoding="utf-8")
    else:
        lines = [json.dumps(one, indent=indent, ensure_ascii=escaped) for one in objects]
        path.write_text("\n".join(lines), encoding="utf-8")
    layout = layout_of(File(str(path)))
    if layout is None:  # lines of values
        assert not array and "\n" not in lines[0]
        layout = Layout(0, array=False)
    assert layout.array == array
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "CHUNK_BYTES", target)
        patch.setattr(pieces, "_STEP", 8)
        patch.setattr(pieces, "_BLOCK", 5)
        assert values(path, layout) == objects
