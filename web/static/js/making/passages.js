/** The passages that were found: their place in each search leg, their fused score, and which fell out of the prompt. */

import { h } from "../dom.js";
import { t } from "../i18n.js";

const LEGS = ["dense", "lexical"];

/** A table of the passages, in the order of their rank. */
export function passages(receipt) {
  const kept = new Map(receipt.passages.map((passage) => [passage.n, passage]));
  const shown = receipt.answer.passages;
  if (!shown.length) return [h("p", { class: "muted" }, t("turn.nothing"))];
  const top = Math.max(...shown.map((passage) => passage.score), Number.EPSILON);
  const cited = new Set(receipt.answer.citations.map((citation) => citation.n));
  const head = ["n", "passage", ...LEGS, "score"].map((name) => h("th", { scope: "col" }, t(`making.col.${name}`)));
  const rows = shown.map((passage) => row(passage, kept.get(passage.n), top, cited.has(passage.n)));
  const dropped = shown.length - kept.size;
  return [
    h("div", { class: "table-scroll", tabIndex: 0, role: "region", "aria-label": t("making.passages") }, h("table", { class: "passages" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows))),
    dropped > 0 && h("p", { class: "small doubt" }, t("making.dropped", { n: dropped })),
  ];
}

function row(passage, kept, top, cited) {
  const state = kept ? (cited ? "cited" : "read") : "dropped";
  return h("tr", { class: state },
    h("td", {}, h("span", { class: `cite-number ${cited ? "" : "plain"}` }, passage.n)),
    h("td", { class: "what" }, h("b", {}, passage.title), " ", h("span", { class: `chip ${state}` }, t(`making.chip.${state}`)), h("span", { class: "quote" }, passage.text)),
    LEGS.map((leg) => h("td", { class: "num" }, place(kept?.scores, leg))),
    h("td", { class: "num score" }, passage.score.toPrecision(3), h("div", { class: "bar" }, h("i", { style: { width: `${Math.max(2, (passage.score / top) * 100)}%` } }))));
}

function place(scores, leg) {
  const rank = scores?.[`${leg}_rank`];
  if (!rank) return h("span", { class: "muted" }, "–");
  const score = scores[`${leg}_score`];
  return [`#${rank}`, typeof score === "number" ? h("span", { class: "small muted block" }, score.toFixed(2)) : ""];
}
