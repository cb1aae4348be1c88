"""What must agree between a sentence and its source: numbers with units, months, names, negation, opposites.

Everything is read by rule, in English and Chinese, and normalised so that `70 billion` equals `700 亿` and `March`
equals `3月`.
"""

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal

_DIGITS = r"\d+(?:[,，]\d{3})*(?:\.\d+)?"
_CJK_NUMERAL = r"[〇零一二三四五六七八九十百千两]+"
_SCALE = {
    "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "k": 10**3, "千": 10**3, "万": 10**4, "百万": 10**6, "千万": 10**7, "亿": 10**8, "万亿": 10**12,
}  # fmt: skip
_SCALES = "|".join(sorted((re.escape(s) for s in _SCALE if s != "k"), key=len, reverse=True))
_WORDS: dict[str, int | Decimal] = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
    "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "hundred": 100, "thousand": 1000, "million": 10**6,
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "once": 1, "twice": 2, "half": Decimal("0.5"), "dozen": 12, "single": 1, "both": 2, "pair": 2,
}  # fmt: skip
_UNITS = {
    "percent": ("%", "percent", "per cent", "％", "百分点"),
    "km": ("km", "kilometer", "kilometre", "公里", "千米"), "m": ("m", "meter", "metre", "米"),
    "cm": ("cm", "centimeter", "centimetre", "厘米"), "mm": ("mm", "millimeter", "millimetre", "毫米"),
    "mile": ("mile", "mi", "英里"), "foot": ("feet", "foot", "ft", "英尺"), "inch": ("inch", "inches", "英寸"),
    "kg": ("kg", "kilogram", "公斤", "千克"), "g": ("gram", "g", "克"), "mg": ("mg", "毫克"),
    "t": ("ton", "tonne", "吨"),
    "lb": ("lb", "pound", "磅"), "us": ("microsecond", "微秒"), "ms": ("ms", "millisecond", "毫秒"),
    "s": ("second", "seconds", "sec", "秒"), "min": ("minute", "min", "分钟"), "h": ("hour", "hr", "小时"),
    "day": ("day", "天"), "week": ("week", "周", "星期"), "month": ("month", "个月"), "year": ("year", "年"),
    "century": ("century", "centuries", "世纪"),
    "bit": ("bit", "比特"), "byte": ("byte", "字节"), "KB": ("KB", "KiB"), "MB": ("MB", "MiB"), "GB": ("GB", "GiB"),
    "TB": ("TB", "TiB"), "usd": ("dollar", "usd", "美元"), "eur": ("euro", "eur", "欧元"), "gbp": ("英镑",),
    "cny": ("yuan", "rmb", "人民币", "元"), "jpy": ("yen", "日元"), "C": ("°C", "℃", "celsius", "摄氏度"),
    "F": ("°F", "fahrenheit", "华氏度"), "person": ("people", "person", "人"), "token": ("token", "词元"),
    "layer": ("layer", "层"), "block": ("block",), "point": ("point", "分"), "time": ("times", "次"),
    "W": ("watt", "瓦"), "kW": ("kilowatt", "千瓦"), "Hz": ("Hz", "赫兹"), "MHz": ("MHz",), "GHz": ("GHz",),
}  # fmt: skip
_UNIT_OF = {form.lower(): unit for unit, forms in _UNITS.items() for form in forms}
_UNIT = "|".join(sorted((re.escape(form) for form in _UNIT_OF), key=len, reverse=True))
_NUMBER = re.compile(
    rf"(?P<currency>[$€£¥])?(?P<digits>{_DIGITS})(?P<half>½)?(?:[\s-]?(?P<scale>{_SCALES}))?"
    rf"(?:[\s-]{{0,2}}(?P<unit>{_UNIT})s?(?![a-z]))?",
    re.IGNORECASE,
)
_CJK_NUMBER = re.compile(
    rf"百分之(?P<share>{_CJK_NUMERAL})"
    rf"|第?(?P<digits>{_CJK_NUMERAL})(?P<scale>万亿|万|亿)?(?P<unit>{_UNIT}|[个名位种座条届项支家部场集只所块倍章])"
    rf"|第(?P<ordinal>{_CJK_NUMERAL})"
)
_WORD_NUMBER = re.compile(
    rf"\b(?P<word>{'|'.join(sorted(_WORDS, key=len, reverse=True))})(?:[\s-](?P<scale>hundred|{_SCALES}))?"
    rf"(?:[\s-](?P<unit>{_UNIT})s?(?![a-z]))?\b",
    re.IGNORECASE,
)
_CURRENCY = {"$": "usd", "€": "eur", "£": "gbp", "¥": "cny"}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = re.compile(
    r"\b(?P<name>January|February|March|April|May|June|July|August|September|October|November|December"
    r"|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?)|(?<!\d)(?P<number>1[0-2]|[1-9])\s*月(?!份?\w?个)"
)
_NEGATION = re.compile(
    r"\b(?:not|cannot|never|neither|nor|none|nobody|nothing|without|unable|refus(?:ed|es) to|fail(?:ed|s) to)\b"
    r"|\black(?:s|ed)?\b|n['’]t\b|\b(?:forbid|forbad|prohibit)\w*|\bban(?:s|ned)\b"
    r"|\bno\b(?!\.)|\bnon-"
    r"|不(?![仅但同过断久少妨管论止只])|没有?|未(?![来必])|无(?![论数线])|并非|绝非|毫无|从不|否认|拒绝|禁止",
    re.IGNORECASE,
)
_OPPOSITES = tuple(
    (re.compile(a, re.IGNORECASE), re.compile(b, re.IGNORECASE))
    for a, b in (
        (r"\bincreas|\bris(?:e|es|ing)\b|\brose\b|\bgr[eo]w|增加|上升|提高|增长",
         r"\bdecreas|\breduc|\bfell\b|\bfall|\bdeclin|\bdrop|减少|下降|降低"),
        (r"\bmore than\b|\bover\b|\bat least\b|超过|多于|至少|大于",
         r"\bless than\b|\bfewer than\b|\bunder\b|\bat most\b|少于|不到|至多|小于"),
        (r"\bbefore\b|之前|以前", r"\bafter\b|之后|以后"), (r"\bduring the\b|期间", r"\bafter the\b|之后|以后"),
        (r"\bfirst\b|第一|最早|首", r"\blast\b|最后|最晚"),
        (r"\blargest\b|\bbiggest\b|\bhighest\b|\bgreatest\b|\bmost\b|最大|最高|最多",
         r"\bsmallest\b|\blowest\b|\bleast\b|最小|最低|最少"),
        (r"\bfaster\b|\bfastest\b|(?<![尽赶])快(?![乐要])", r"\bslower\b|\bslowest\b|慢"),
        (r"\blonger\b|\blongest\b|长于|更长|最长", r"\bshorter\b|\bshortest\b|短于|更短|最短"),
        (r"\bheavier\b|\bheaviest\b|重于|更重|最重", r"\blighter\b|\blightest\b|轻于|更轻|最轻"),
        (r"\bolder\b|\boldest\b|早于|更早", r"\byounger\b|\byoungest\b|\bnewer\b|晚于|更晚"),
        (r"\bupstream\b|上游", r"\bdownstream\b|下游"), (r"升[为到至]", r"降[为到至]"),
        (r"\bcheaper\b|\bcheapest\b|更便宜", r"\bdearer\b|\bmore expensive\b|更贵"),
        (r"\bnorth", r"\bsouth"), (r"\beast", r"\bwest"), (r"北", r"南"), (r"东", r"西"),
        (r"\bwon\b|\bwins?\b|\bvictor|获胜|胜利|赢", r"\blost\b|\bloses?\b|\bdefeat of\b|失败|输"),
        (r"\ballow|\bpermit|允许", r"\bforbid|\bprohibit|\bban(?:s|ned)?\b|禁止"),
        (r"减轻|缓解|改善", r"加重|恶化"), (r"\babove\b|上方", r"\bbelow\b|下方"),
        (r"\balways\b|总是", r"\bnever\b|从不|从未"),
    )
)  # fmt: skip
_NAME = re.compile(
    r"[A-ZÀ-Þ][A-Za-zÀ-ÿ0-9'’-]*[A-Za-zÀ-ÿ0-9]|[A-Z]{2,}|[a-z]+[A-Z][A-Za-z0-9]*|[A-Za-z]+\d(?:[A-Za-z0-9.-]*[A-Za-z0-9])?"
)
_NOT_NAMES = re.compile(
    "The|A|An|In|On|At|Of|For|From|By|With|And|Or|But|It|Its|This|That|These|Those|He|She|They|We|You|I|"
    "His|Her|Their|There|Here|When|Where|Who|What|Which|Why|How|If|As|To|Is|Are|Was|Were|Be|Yes|No|Not|"
    "According|After|Before|During|Both|Each|Some|Many|Most|All|One|Two|Three|First|Second|Also|However|"
    "Because|Since|While|Although|Then|Thus"
)
_CJK_DIGIT = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}


@dataclass(frozen=True)
class Number:
    """A number of a text; `unit` is empty where none was recognised. `start` is its first character."""

    value: Decimal
    unit: str
    start: int


def fold(text: str) -> str:
    """Full-width forms and typographic variants made plain; lengths may change."""
    return unicodedata.normalize("NFKC", text).replace("–", "-").replace("—", "-")


def numbers(text: str) -> list[Number]:
    """The numbers of a folded text in digits, words and Chinese numerals."""
    found = [_from_digits(m) for m in _NUMBER.finditer(text)]
    found += [_from_cjk(m) for m in _CJK_NUMBER.finditer(text)]
    found += [_from_word(m) for m in _WORD_NUMBER.finditer(text)]
    return found


def months(text: str) -> set[int]:
    """Months named in a text, 1 to 12."""
    return {_MONTHS.index(m["name"][:3].lower()) + 1 if m["name"] else int(m["number"]) for m in _MONTH.finditer(text)}


def negations(text: str) -> int:
    """How often a text denies something."""
    return len(_NEGATION.findall(text))


def opposite_said(claim: str, source: str) -> bool:
    """Whether the claim says one of a pair of opposites and the source only the other."""
    for one, other in _OPPOSITES:
        for said, denied in ((one, other), (other, one)):
            if said.search(claim) and not denied.search(claim) and denied.search(source) and not said.search(source):
                return True
    return False


def names(text: str) -> set[str]:
    """Proper names and identifiers in Latin letters, folded to lower case."""
    return {m.group().lower().removesuffix("'s").removesuffix("’s") for m in _NAME.finditer(text)
            if not _NOT_NAMES.fullmatch(m.group()) and not _MONTH.fullmatch(m.group())}  # fmt: skip


def _from_digits(match: re.Match[str]) -> Number:
    value = Decimal(match["digits"].replace(",", "").replace("，", ""))
    value = (value + (Decimal("0.5") if match["half"] else 0)) * _SCALE.get((match["scale"] or "").lower(), 1)
    unit = _UNIT_OF.get((match["unit"] or "").lower(), "") or _CURRENCY.get(match["currency"] or "", "")
    return Number(value.normalize(), unit, match.start("digits"))


def _from_cjk(match: re.Match[str]) -> Number:
    if match["share"]:
        return Number(Decimal(_cjk_value(match["share"])), "percent", match.start())
    value = _cjk_value(match["digits"] or match["ordinal"]) * _SCALE.get(match["scale"] or "", 1)
    return Number(Decimal(value).normalize(), _UNIT_OF.get(match["unit"] or "", ""), match.start())


def _from_word(match: re.Match[str]) -> Number:
    scale = (match["scale"] or "").lower()
    value = Decimal(_WORDS[match["word"].lower()]) * (100 if scale == "hundred" else _SCALE.get(scale, 1))
    return Number(value.normalize(), _UNIT_OF.get((match["unit"] or "").lower(), ""), match.start())


def _cjk_value(numeral: str) -> int:
    if not re.search("[十百千]", numeral):
        return int("".join(str(_CJK_DIGIT[c]) for c in numeral))
    total, digit = 0, 0
    for character in numeral:
        power = {"十": 10, "百": 100, "千": 1000}.get(character)
        if power is None:
            digit = _CJK_DIGIT[character]
        else:
            total += (digit or 1) * power
            digit = 0
    return total + digit
