"""The numbers that Word shows before paragraphs but never stores, computed from the numbering definitions."""

from dataclasses import dataclass, field

from lxml import etree

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
         (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
Element = etree._Element


@dataclass(frozen=True)
class _Level:
    style: str
    pattern: str
    start: int


@dataclass
class Numbering:
    """Counts numbered paragraphs in the order they come.

    `style_numbers` holds the numbering that a paragraph style brings with it, by style id.
    """

    levels: dict[str, dict[int, _Level]] = field(default_factory=dict)
    style_numbers: dict[str, tuple[str, int]] = field(default_factory=dict)
    _counts: dict[str, dict[int, int]] = field(default_factory=dict)

    def label(self, paragraph: Element) -> str:
        """What stands before the paragraph: `2.1`, `iv)`, `-` for a bullet; empty when it is in no list."""
        found = self._number_of(paragraph)
        if found is None or found[1] not in self.levels.get(found[0], {}):
            return ""
        number, depth = found
        level = self.levels[number][depth]
        if level.style == "bullet":
            return "-"
        counts = self._counts.setdefault(number, {})
        counts[depth] = counts.get(depth, level.start - 1) + 1
        for deeper in [key for key in counts if key > depth]:
            del counts[deeper]
        label = level.pattern
        for index, known in self.levels[number].items():
            label = label.replace(f"%{index + 1}", _shown(counts.get(index, known.start), known.style))
        return label.strip()

    def _number_of(self, paragraph: Element) -> tuple[str, int] | None:
        own = paragraph.find(f"{W}pPr/{W}numPr")
        style = paragraph.find(f"{W}pPr/{W}pStyle")
        inherited = self.style_numbers.get(style.get(f"{W}val", "") if style is not None else "")
        if own is None:
            return inherited
        number = _value(own.find(f"{W}numId")) or (inherited[0] if inherited else "0")
        return None if number == "0" else (number, int(_value(own.find(f"{W}ilvl")) or "0"))


def read_numbering(numbering: Element | None, styles: Element) -> Numbering:
    """The numbering definitions of a document, from its numbering part (if any) and its styles part."""
    if numbering is None:
        return Numbering()
    abstract = {node.get(f"{W}abstractNumId", ""): _levels(node) for node in numbering.iterchildren(f"{W}abstractNum")}
    levels = {
        node.get(f"{W}numId", ""): abstract.get(_value(node.find(f"{W}abstractNumId")), {})
        for node in numbering.iterchildren(f"{W}num")
    }
    style_numbers = {}
    for style in styles.iterchildren(f"{W}style"):
        properties = style.find(f"{W}pPr/{W}numPr")
        if properties is not None and (number := _value(properties.find(f"{W}numId"))):
            style_numbers[style.get(f"{W}styleId", "")] = (number, int(_value(properties.find(f"{W}ilvl")) or "0"))
    return Numbering(levels, style_numbers)


def _levels(node: Element) -> dict[int, _Level]:
    return {int(level.get(f"{W}ilvl", "0")): _level(level) for level in node.iter(f"{W}lvl")}


def _level(node: Element) -> _Level:
    style = _value(node.find(f"{W}numFmt")) or "decimal"
    return _Level(style, _value(node.find(f"{W}lvlText")), int(_value(node.find(f"{W}start")) or "1"))


def _value(node: Element | None) -> str:
    return node.get(f"{W}val", "") if node is not None else ""


def _shown(count: int, style: str) -> str:
    if style.endswith("Letter"):
        letters = chr(ord("a") + (count - 1) % 26) * ((count - 1) // 26 + 1)
        return letters.upper() if style.startswith("upper") else letters
    if style.endswith("Roman"):
        roman = _roman(count)
        return roman.upper() if style.startswith("upper") else roman
    return "" if style == "none" else str(count)


def _roman(count: int) -> str:
    shown = ""
    for value, letters in ROMAN:
        shown += letters * (count // value)
        count %= value
    return shown
