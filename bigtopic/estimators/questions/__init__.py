"""What a fitted model is asked, as methods of the estimators; the answers are computed in `bigtopic.questions`."""
