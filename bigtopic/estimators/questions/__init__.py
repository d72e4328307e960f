"""Questions to a fitted model about its topics and about documents."""

from bigtopic.estimators.questions.documents import DocumentQuestions
from bigtopic.estimators.questions.topics import TopicQuestions

__all__ = ["DocumentQuestions", "TopicQuestions"]
