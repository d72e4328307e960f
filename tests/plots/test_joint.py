"""The heat map of a dual topic model shows its joint distribution."""

import numpy as np
import pytest

from bigtopic import plots
from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import SettingError
from bigtopic.estimators.dual_topic import DualTopicModel
from bigtopic.estimators.lda import LDA

NAMES = ["$x^{$", "\x1b[31mred", *(f"item{i}" for i in range(18))]
COUNTS = from_matrix(np.kron([[5, 0, 1], [0, 4, 2]], np.ones((10, 7), int))[:, :20], NAMES)


@pytest.mark.costly
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (40, 30)])
def test_cells_are_the_joint_distribution(shape, tmp_path):
    model = DualTopicModel(*shape, max_iter=3, client=False, progress=False).fit(COUNTS)
    figure = model.plot("joint", n_top=2)
    axes = figure.axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), model.joint_)
    best = np.argsort(-model.column_topics_, axis=0, kind="stable")[:2].T
    for j, (tick, columns) in enumerate(zip(axes.get_xticklabels(), best, strict=True)):
        assert tick.get_text() == f"{j}  " + " ".join(plots.label(NAMES[c]) for c in columns)
    written = [plots.save(model.plot("joint"), tmp_path / f"{i}.svg").read_bytes() for i in (0, 1)]
    assert written[0] == written[1]


def test_other_models_are_refused():
    model = LDA(2, method="online-cvb0", max_iter=1, client=False, progress=False).fit(COUNTS)
    with pytest.raises(
        SettingError, match="plot 'joint' needs row topics and column topics; give a DualTopicModel"
    ):
        model.plot("joint")
