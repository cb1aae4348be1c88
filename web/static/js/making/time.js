/** Where the time went: search, the model's own calls in agent mode, waiting, prefill until the first token, decode until the last. */

import { h } from "../dom.js";
import { duration, number, t } from "../i18n.js";

/** A time line to scale, and the field's figures. */
export function time(receipt) {
  const { timing, usage } = receipt.answer;
  const prefill = Math.max(0, timing.ttft_ms - timing.retrieval_ms - timing.queue_ms);
  const decode = Math.max(0, timing.total_ms - timing.ttft_ms);
  const agent = Math.min(timing.retrieval_ms, receipt.steps.reduce((sum, step) => sum + step.milliseconds, 0));
  const spans = [["retrieval", timing.retrieval_ms - agent], ["agent", agent], ["queue", timing.queue_ms], ["prefill", prefill], ["decode", decode]].filter(([, ms]) => ms > 0);
  const total = spans.reduce((sum, [, ms]) => sum + ms, 0) || 1;
  const tpot = usage.completion_tokens > 1 ? decode / (usage.completion_tokens - 1) : 0;
  let from = 0;
  const rows = spans.map(([name, ms]) => {
    const begun = from;
    from += ms;
    return h("li", { class: `span ${name}` },
      h("span", { class: "span-name" }, t(`time.${name}`)),
      h("span", { class: "track" }, h("i", { style: { left: `${(begun / total) * 100}%`, width: `${Math.max(0.6, (ms / total) * 100)}%` } })),
      h("span", { class: "num" }, duration(ms)));
  });
  const figures = [
    ["ttft", duration(timing.ttft_ms)],
    ["tpot", tpot ? duration(tpot) : "–"],
    ["speed", tpot ? t("unit.tps", { n: number(1000 / tpot) }) : "–"],
    ["total", duration(timing.total_ms)],
  ];
  return [
    h("ol", { class: "timeline" }, rows),
    h("dl", { class: "facts figures-row" }, figures.map(([name, value]) =>
      h("div", {}, h("dt", {}, t(`figure.${name}`)), h("dd", { class: "num big" }, value), h("dd", { class: "small muted" }, t(`figure.${name}.why`))))),
  ];
}
