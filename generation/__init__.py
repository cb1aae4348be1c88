"""Passages and a question in, a checked and cited answer out."""
