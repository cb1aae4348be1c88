"""Measures answers against questions with known answers."""
