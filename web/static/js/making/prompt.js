/** The prompt by its parts in tokens, and how much of it the engine still had in its KV cache. */

import { h } from "../dom.js";
import { count, number, t } from "../i18n.js";

/** Bars of the parts and of cached against computed tokens; null where no prompt was made. */
export function prompt(receipt) {
  const parts = Object.entries(receipt.prompt_tokens_by_part).filter(([, tokens]) => tokens > 0);
  if (!parts.length) return null;
  const { prompt_tokens: total, cached_tokens: cached } = receipt.answer.usage;
  const computed = Math.max(0, total - cached);
  return [
    stack(t("making.parts"), parts.map(([name, tokens], i) => ({ label: t(`part.${name}`), tokens, tone: `var(--c${i + 1})` }))),
    total > 0 && stack(t("making.cache", { total: number(total) }), [
      { label: t("making.cached"), tokens: cached, tone: "var(--c1)", striped: true },
      { label: t("making.computed"), tokens: computed, tone: "var(--c3)" },
    ]),
    h("p", { class: "why" }, t("making.cache.why")),
    receipt.dropped_turns > 0 && h("p", { class: "small doubt" }, t("making.droppedturns", { n: receipt.dropped_turns })),
    h("details", {}, h("summary", {}, t("making.fullprompt")),
      receipt.prompt.map((message) => h("div", { class: "message" }, h("p", { class: "role" }, message.role), h("pre", { tabIndex: 0 }, message.content)))),
  ];
}

function stack(title, pieces) {
  const shown = pieces.filter((piece) => piece.tokens > 0);
  return h("figure", { class: "stack" },
    h("figcaption", { class: "small muted" }, title),
    h("div", { class: "stack-bar", "aria-hidden": "true" }, shown.map((piece) => h("i", { class: piece.striped ? "striped" : "", style: { "flex-grow": piece.tokens, "--tone": piece.tone } }))),
    h("ul", { class: "legend" }, pieces.map((piece) =>
      h("li", { class: "small" }, h("i", { class: piece.striped ? "striped" : "", style: { "--tone": piece.tone } }), piece.label, h("b", { class: "num" }, count("tokens", piece.tokens))))));
}
