/** What the checks said: of each sentence, whether its citation supports it, and how near the answer was to a refusal. */

import { h, icon } from "../dom.js";
import { has, t } from "../i18n.js";
import { render } from "../markdown.js";

/** The sentences with their verdicts, and the refusal decision on its scale. */
export function verdicts(receipt) {
  const { sentences, refused } = receipt.answer;
  const rows = sentences.map((sentence) =>
    h("li", { class: sentence.supported ? "good" : "doubt" }, icon(sentence.supported ? "check" : "warn"),
      h("div", {}, h("div", { class: "said" }, render(sentence.text, (n) => ` [${n}]`)), h("span", { class: "small muted block" }, sentence.supported ? t("verdict.supported") : sentence.reason || t("verdict.noreason")))));
  const signals = Object.entries(receipt.signals).filter(([, value]) => typeof value === "number");
  return [
    rows.length > 0 && h("ul", { class: "verdicts" }, rows),
    h("div", { class: "gauge" },
      h("p", { class: "small" }, t(refused ? "making.refused" : "making.answered", { p: share(receipt.refusal_probability), threshold: share(receipt.refusal_threshold) })),
      h("div", { class: "gauge-bar", "aria-hidden": "true" },
        h("i", { class: refused ? "over" : "", style: { width: share(receipt.refusal_probability) } }), h("b", { style: { left: share(receipt.refusal_threshold) } }))),
    signals.length > 0 && h("details", {}, h("summary", {}, t("making.signals")),
      h("dl", { class: "facts" }, signals.map(([name, value]) => h("div", {}, h("dt", {}, has(`signal.${name}`) ? t(`signal.${name}`) : name.replaceAll("_", " ")), h("dd", { class: "num" }, value.toFixed(3)))))),
    refused && receipt.raw && h("details", {}, h("summary", {}, t("making.raw")), h("pre", { tabIndex: 0 }, receipt.raw)),
  ];
}

const share = (value) => `${Math.round(value * 1000) / 10}%`;
