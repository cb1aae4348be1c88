"""Takes reasoning apart that a model writes into its text as `<think>...</think>`, where vLLM has no reasoning parser.

Only reasoning at the beginning counts: later on the tags are text like any other.
"""

from dataclasses import dataclass

OPEN, CLOSE = "<think>", "</think>"


@dataclass
class ThinkingSplitter:
    """One reply in the making; what may still become a tag is held back."""

    _held: str = ""
    _state: str = "undecided"  # then "thinking", then "between", then "text"

    def feed(self, text: str) -> tuple[str, str]:
        """The thinking and the text that are certain now."""
        if self._state == "between":
            text = text.lstrip()
            self._state = "text" if text else "between"
        if self._state in ("text", "between"):
            return "", text
        self._held += text
        if self._state == "undecided" and not self._decide():
            return "", ""
        return self._thinking() if self._state == "thinking" else self._release()

    def finish(self) -> tuple[str, str]:
        """The rest, when the reply has ended."""
        if self._state == "thinking":
            thinking, self._held = self._held, ""
            return thinking, ""
        return self._release()

    def _decide(self) -> bool:
        beginning = self._held.lstrip()
        if beginning.startswith(OPEN):
            self._state, self._held = "thinking", beginning.removeprefix(OPEN)
        elif not OPEN.startswith(beginning):
            self._state = "text"
        return self._state != "undecided"

    def _thinking(self) -> tuple[str, str]:
        thinking, closed, text = self._held.partition(CLOSE)
        if closed:
            self._state, self._held = "between", ""
            return thinking, self.feed(text)[1]
        kept = next((n for n in range(len(CLOSE) - 1, 0, -1) if self._held.endswith(CLOSE[:n])), 0)
        thinking, self._held = self._held[: len(self._held) - kept], self._held[len(self._held) - kept :]
        return thinking, ""

    def _release(self) -> tuple[str, str]:
        text, self._held = self._held, ""
        return "", text
