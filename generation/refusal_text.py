"""The words of a refusal, in the language of the question."""

from collections.abc import Sequence

from retrieval.passages import Passage

SHOWN_TITLES = 3

_TEXT = {
    "en": (
        "I could not find the answer in the documents. I searched the collection “{collection}” and read {count} "
        "passages, from: {titles}. The nearest passages are listed below.",
        "I could not find the answer: the collection “{collection}” has no passage on this.",
        ", ",
    ),
    "zh": (
        "文档中没有找到这个问题的答案。已检索集合“{collection}”，读了 {count} 个段落，来自：{titles}。"
        "最接近的段落列在下面。",
        "没有找到答案：集合“{collection}”里没有相关的段落。",
        "、",
    ),
    "de": (
        "In den Dokumenten steht darauf keine Antwort. Durchsucht wurde die Sammlung „{collection}“; gelesen wurden "
        "{count} Passagen aus: {titles}. Die nächstliegenden stehen unten.",
        "Keine Antwort gefunden: Die Sammlung „{collection}“ hat keine Passage dazu.",
        ", ",
    ),
    "fr": (
        "Les documents ne contiennent pas la réponse. La collection « {collection} » a été parcourue et {count} "
        "passages ont été lus, tirés de : {titles}. Les plus proches figurent ci-dessous.",
        "Pas de réponse : la collection « {collection} » n'a aucun passage à ce sujet.",
        ", ",
    ),
    "es": (
        "Los documentos no contienen la respuesta. Se buscó en la colección «{collection}» y se leyeron {count} "
        "pasajes de: {titles}. Los más cercanos aparecen abajo.",
        "No hay respuesta: la colección «{collection}» no tiene ningún pasaje sobre esto.",
        ", ",
    ),
    "ja": (
        "文書の中に答えは見つかりませんでした。コレクション「{collection}」を検索し、{titles} から {count} 件の箇所を"
        "読みました。最も近い箇所は下にあります。",
        "答えは見つかりませんでした。コレクション「{collection}」に該当する箇所はありません。",
        "、",
    ),
    "ko": (
        "문서에서 답을 찾지 못했습니다. 컬렉션 “{collection}”을 검색하여 {titles}에서 {count}개의 구절을 읽었습니다. "
        "가장 가까운 구절은 아래에 있습니다.",
        "답을 찾지 못했습니다. 컬렉션 “{collection}”에 관련 구절이 없습니다.",
        ", ",
    ),
    "ru": (
        "В документах нет ответа. Поиск шёл в коллекции «{collection}»; прочитано отрывков: {count}, из: {titles}. "
        "Ближайшие приведены ниже.",
        "Ответа нет: в коллекции «{collection}» нет отрывков на эту тему.",
        ", ",
    ),
}


def refusal_text(language: str, collection: str, passages: Sequence[Passage]) -> str:
    """A refusal that says what was searched; English where there is no text for the language."""
    with_passages, without, comma = _TEXT.get(language, _TEXT["en"])
    if not passages:
        return without.format(collection=collection)
    titles = list(dict.fromkeys(p.title or p.uri for p in passages))
    shown = comma.join(titles[:SHOWN_TITLES]) + (" …" if len(titles) > SHOWN_TITLES else "")
    return with_passages.format(collection=collection, count=len(passages), titles=shown)
