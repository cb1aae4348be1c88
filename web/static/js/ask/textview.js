/** A document's text with a span highlighted. Long documents are drawn around the span and grow on request. */

import { h } from "../dom.js";
import { t } from "../i18n.js";
import { units } from "../offsets.js";

const AROUND = 6000;
const HARD_WRAPPED = 55;

/** `start`/`end` count characters (code points) of the document's text, as everywhere in the API. */
export function drawText(text, start, end) {
  const [from, to] = units(text, [start, end]);
  text = unwrapped(text);
  const mark = h("mark", { class: "hit", tabIndex: -1 }, text.slice(from, to));
  const before = grower(text, from, -1);
  const after = grower(text, to, 1);
  const article = h("div", { class: "document-text" }, before.text, mark, after.text);
  const element = h("div", {}, before.button, article, after.button);
  return { element, reveal: () => mark.scrollIntoView({ block: "center" }) };
}

/** The text on one side of the span, with a button that shows more of it. */
function grower(text, edge, direction) {
  const holder = h("span");
  const button = h("button", { type: "button", class: "quiet more" }, t(direction < 0 ? "source.earlier" : "source.later"));
  let reach = edge;
  const grow = () => {
    const next = direction < 0 ? lineStart(text, reach - AROUND) : lineEnd(text, reach + AROUND);
    const piece = direction < 0 ? text.slice(next, reach) : text.slice(reach, next);
    reach = next;
    holder[direction < 0 ? "prepend" : "append"](piece);
    button.hidden = direction < 0 ? reach <= 0 : reach >= text.length;
  };
  button.addEventListener("click", grow);
  grow();
  return { text: holder, button };
}

const lineStart = (text, at) => (at <= 0 ? 0 : text.indexOf("\n", at) + 1 || at);

function lineEnd(text, at) {
  if (at >= text.length) return text.length;
  const found = text.lastIndexOf("\n", at);
  return found > at - AROUND ? found : at;
}

/**
 * Lines that were broken for the width of a terminal, joined for the width of the panel. Each line break becomes one other
 * character, so offsets stay what they are.
 */
function unwrapped(text) {
  return text.replace(/([^\n]+)\n( *)(?=([^\n]*))/g, (whole, line, indent, next) => {
    const flows = line.length >= HARD_WRAPPED && line.length <= 120 && /^[\p{L}\p{N}(“"'`]/u.test(next) && indent.length <= 4 && !/^(\d+[.)、]|[-*•|])\s/.test(next);
    if (!flows || /[|`]\s*$/.test(line)) return whole;
    return line + (/[\u3000-\u9fff\uff00-\uffef]$/.test(line) ? "\u200b" : " ") + "\u200b".repeat(indent.length);
  });
}
