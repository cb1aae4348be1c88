/**
 * An answer's text as safe, marked-up DOM: Markdown without links or images, citation numbers as buttons, a verdict on
 * every sentence, formulas as MathML. It is drawn anew from the whole text at most once a frame while tokens arrive.
 *
 * Citations and formulas are swapped for private-use characters before Markdown sees the text, so that it can't read
 * `[1]: ` as a link definition or `_` in a formula as emphasis.
 */

import { h } from "../dom.js";
import { t } from "../i18n.js";
import { render } from "../markdown.js";
import { describe } from "../tooltip.js";
import { align } from "./align.js";

/** `onCitation(n, button)` is called when a citation is chosen. */
export class Prose {
  constructor(onCitation) {
    this.onCitation = onCitation;
    this.element = h("div", { class: "prose" });
    this.text = "";
    this.sentences = [];
    this.known = new Map();
    this.frame = 0;
  }

  /** Add a piece of streamed text; `passages` are what its citations may refer to. */
  append(text, passages) {
    this.text += text;
    this.#know(passages);
    this.frame ||= requestAnimationFrame(() => this.flush());
  }

  /** A sentence has its verdict. */
  checked(sentence) {
    this.sentences.push(sentence);
    this.frame ||= requestAnimationFrame(() => this.flush());
  }

  /** Replace everything by a finished answer. */
  show(text, { citations, sentences }) {
    this.text = text;
    this.sentences = sentences;
    this.#know(citations);
    this.flush();
    this.element.classList.add("final");
  }

  /** Draw now what is waiting to be drawn. */
  flush() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (!this.text) return;
    const fragment = render(this.text, (n) => this.#citation(n));
    for (const { sentence, ranges } of align(fragment, this.sentences)) this.#mark(sentence, ranges);
    this.element.replaceChildren(fragment);
  }

  #know(sources) {
    for (const source of sources) this.known.set(source.n, source);
  }

  #citation(n) {
    const source = this.known.get(n);
    if (!source) return document.createTextNode("");
    const button = h("button", { type: "button", class: "cite", on: { click: (event) => this.onCitation(n, event.currentTarget) } }, n);
    button.setAttribute("aria-label", t("cite.label", { n, title: source.title }));
    describe(button, () => [h("b", {}, source.title), source.page ? ` · ${t("page", { n: source.page })}` : "", h("br"), excerpt(source.quote ?? source.text ?? "")]);
    return button;
  }

  #mark(sentence, pieces) {
    const kind = sentence.supported ? "supported" : "unsupported";
    let last = null;
    for (const { node, start, end } of pieces) {
      const range = document.createRange();
      range.setStart(node, start);
      range.setEnd(node, end);
      last = h("span", { class: `sentence ${kind}` });
      range.surroundContents(last);
    }
    if (!last || sentence.supported) return;
    const marker = h("button", { type: "button", class: "doubt-mark", "aria-label": `${t("verdict.unsupported")}. ${sentence.reason ?? ""}` }, "?");
    describe(marker, () => [h("b", {}, t("verdict.unsupported")), h("br"), sentence.reason || t("verdict.noreason")]);
    sentenceEnd(last).after(marker);
  }
}

/** Where a sentence ends to the eye: after its citations and closing punctuation. */
function sentenceEnd(span) {
  let node = span;
  while (node.nextSibling?.classList?.contains("cite") || node.nextSibling?.data === "") node = node.nextSibling;
  const next = node.nextSibling;
  const closing = next?.nodeType === Node.TEXT_NODE ? /^[.,;:!?…。，；：！？）)」』”"']+/.exec(next.data) : null;
  if (!closing) return node;
  next.splitText(closing[0].length);
  return next;
}

const excerpt = (text) => (text.length > 240 ? `${text.slice(0, 240)}…` : text);
