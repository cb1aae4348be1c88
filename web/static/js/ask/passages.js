/** Lists of sources under an answer: the quotes it cites, or the nearest passages where it refused. */

import { h } from "../dom.js";
import { count, t } from "../i18n.js";
import { snippet } from "./snippet.js";

/** Where something lies in its document, for people. */
export function place({ page, heading_path: headings = [] }) {
  const parts = page ? [t("page", { n: page })] : [];
  return [...parts, ...headings.slice(-2)].join(" · ");
}

/** The cited quotes, each opening its source; null where nothing is cited. One row a citation number. */
export function sourceList(answer, onOpen) {
  if (!answer.citations.length) return null;
  const rows = answer.citations.map((citation) =>
    h("li", {}, h("button", { type: "button", class: "source-row", on: { click: (event) => onOpen(citation, event.currentTarget) } },
      h("span", { class: "cite-number" }, citation.n),
      h("span", { class: "source-text" },
        h("span", { class: "source-title" }, citation.title, h("span", { class: "muted small" }, place(citation))),
        h("span", { class: "quote" }, citation.quote)))));
  return h("section", { class: "sources" }, h("h3", {}, t("sources.title")), h("ol", {}, rows), verdictLine(answer.sentences));
}

/** Passages offered to the reader, each by the part that fits `question` best; null where there are none. */
export function passageList(passages, source, question, title = t("refusal.nearest")) {
  if (!passages.length) return null;
  const rows = passages.map((passage) =>
    h("li", {}, h("button", { type: "button", class: "source-row", on: { click: (event) => source.open(passage, event.currentTarget) } },
      h("span", { class: "cite-number plain" }, passage.n),
      h("span", { class: "source-text" },
        h("span", { class: "source-title" }, passage.title, h("span", { class: "muted small" }, place(passage))),
        h("span", { class: "quote" }, snippet(passage.text, question))))));
  return h("section", { class: "sources" }, h("h3", {}, title), h("ol", {}, rows));
}

function verdictLine(sentences) {
  if (!sentences.length) return null;
  const supported = sentences.filter((sentence) => sentence.supported).length;
  const all = supported === sentences.length;
  return h("p", { class: `verdict-line small ${all ? "good" : "doubt"}` },
    t(all ? "verdict.all" : "verdict.some", { supported, sentences: count("sentences", sentences.length) }));
}
