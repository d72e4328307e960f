"""The dual topic model: topics of the rows and topics of the columns of a matrix of counts.

A record is one count of a row and a column: of a user and an item, a cell and a gene, a document and a word. Its pair
of topics is drawn from one joint distribution, then its row from the row topic and its column from the column topic:

    p(row, column) = sum_kj  row_topics_rk  joint_kj  column_topics_cj

Each of the three distributions has a symmetric Dirichlet prior. Row topics are distributions over the rows, the
documents of a corpus by their row in the source; column topics are distributions over the columns, its words.

Reference: Rugeles et al., "Infinite latent state replication", equation 5.9.
"""

from __future__ import annotations

from bigtopic.models.base import ArraySpec, Model

__all__ = ["COLUMN_TOPICS", "DUAL", "JOINT", "ROW_TOPICS"]

ROW_TOPICS, COLUMN_TOPICS, JOINT = "row_topics", "column_topics", "joint"

DUAL = Model(
    "dual",
    {
        ROW_TOPICS: ArraySpec("row", "row_topic", prior="row_topic_prior"),
        COLUMN_TOPICS: ArraySpec("column", "column_topic", prior="column_topic_prior"),
        JOINT: ArraySpec(
            "row_topic", "column_topic", prior="joint_prior", normalised_over=None, dtype="float64"
        ),
    },
    components=("row_topic", "column_topic"),
    mixing=JOINT,
)
