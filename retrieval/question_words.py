"""Words that ask without saying about what: questions are searched without them; documents keep all their words.

They are short on purpose: large stop-word lists take away words that matter ("information", "system") and measure
worse.
"""

QUESTION_WORDS = {
    "en": (
        "what which who whom whose when where why how do does did has have had can could should would may might must "
        "i you he she we they me him her us my your his our its am been being from about than so please"
    ),
    "de": (
        "was welche welcher welches wer wen wem wessen wann wo woher wohin warum wieso weshalb wie kann können könnte "
        "soll sollte hat haben hatte wird werden wurde ich du er wir ihr mir mich uns mein dein sein bitte"
    ),
    "fr": (
        "que quoi quel quelle quels quelles qui quand où pourquoi comment combien est-ce peut peuvent doit doivent a "
        "ont avait je tu il elle nous vous ils elles me moi mon ma mes votre notre"
    ),
    "es": (
        "qué que cuál cuáles quién quiénes cuándo cuando dónde donde cómo como cuánto cuánta cuántos cuántas puede "
        "pueden debe ha han había yo tú él ella nosotros me mi mis su sus por favor"
    ),
    "it": "cosa quale quali chi quando dove perché come quanto quanti può deve ha hanno io tu lui lei noi mio",
    "pt": "que qual quais quem quando onde como quanto quantos pode deve tem têm eu você ele ela nós me meu minha",
    "nl": "wat welke wie wanneer waar waarom hoe hoeveel kan kunnen moet heeft hebben had ik jij hij zij wij mij mijn",
    "ru": "что какой какая какие кто когда где почему как сколько может можно я ты он она мы вы мой ваш",
    "zh": (
        "的 了 是 在 和 与 及 或 而 之 其 于 以 为 被 把 对 从 到 这 那 哪 谁 吗 呢 么 什 怎 何 几 请 "
        "什么 哪个 哪些 哪里 哪一 怎么 怎样 多少 为何 如何 几个 为什 请问"
    ),
    "ja": "の は が を に へ と で も か や な だ です ます 何 誰 いつ どこ なぜ どう どの どれ いくつ ください",
    "ko": "은 는 이 가 을 를 에 의 와 과 로 도 무엇 누구 언제 어디 왜 어떻게 어떤 얼마",
}  # fmt: skip
