"""One is singular wherever numbers have nouns."""

import pytest

from bigtopic.corpus.memory import from_matrix
from bigtopic.estimators.lda import LDA
from bigtopic.evaluation import log_predictive
from bigtopic.wording import counted


@pytest.mark.parametrize(
    "number, said", [(0, "0 passes"), (1, "1 pass"), (1.0, "1 pass"), (1234567.0, "1,234,567 passes")]
)
def test_a_number_has_the_noun_that_fits(number, said):
    assert counted(number, "pass", "passes") == said


def test_one_is_singular_in_notebooks_and_results():
    model = LDA(2, method="online-cvb0", max_iter=1, random_state=0).fit(from_matrix([[2, 1]]))
    assert "1 pass, 1 update<" in model._repr_html_()
    scored = log_predictive(model, from_matrix([[1, 1]]))
    assert repr(scored).endswith("; 1 held-out token of 1 document)")
    assert scored.details()["scored"] == "1 token of 1 document"
