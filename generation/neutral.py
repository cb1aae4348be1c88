"""Document text made harmless for a chat template: data can't open a turn, a tool call, or end its own fence.

Only what the model reads is changed; quotes always come from the document itself.
"""

import re

# `<|im_start|>`, `<｜User｜>` (DeepSeek), `<start_of_turn>` (Gemma), `[INST]`, `<<SYS>>` (Llama 2), `<s>`, `<think>`,
# `<tool_call>`, and Folio's own fence. A blank after the first character splits the token for every known tokenizer.
_CONTROL = re.compile(
    r"<[|｜]|[|｜]>|<(?=/?(?:s|unk|pad|bos|eos|source|sources|think|tools?|tool_call|tool_response|"
    r"(?:start|end|begin)_of_\w+)\b[^<>\n]{0,40}>)"
    r"|<(?=/?SYS>)|<(?=<SYS)|\[(?=/?(?:INST|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|SYSTEM_PROMPT)\])",
    re.IGNORECASE,
)


def neutralise(text: str) -> str:
    """The text with every control token of common chat templates broken."""
    return _CONTROL.sub(lambda match: f"{match.group()[0]} {match.group()[1:]}", text)
