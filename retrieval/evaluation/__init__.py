"""Measures retrieval on judged questions: datasets in, figures, comparisons and a report out."""
