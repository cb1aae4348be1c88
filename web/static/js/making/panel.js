/** "How this answer was made": the answer's receipt, told as the steps of inference on the reader's own question. */

import { call } from "../api.js";
import { h } from "../dom.js";
import { moment, number, t } from "../i18n.js";
import { agent } from "./agent.js";
import { passages } from "./passages.js";
import { prompt } from "./prompt.js";
import { time } from "./time.js";
import { tokens } from "./tokens.js";
import { verdicts } from "./verdicts.js";

const STYLES = "/static/css/making.css";

/** Fill `place` with the making of an answer. Throws `ApiError`. */
export async function showMaking(place, answerId) {
  place.replaceChildren(h("p", { class: "muted" }, t("loading")));
  const [receipt] = await Promise.all([call(`/api/v1/answers/${encodeURIComponent(answerId)}`), styles()]);
  const sections = [search, agent, passages, prompt, time, tokens, verdicts, settings];
  const steps = sections.map((section) => [section.name, section(receipt)]).filter(([, body]) => body);
  place.replaceChildren(h("section", { class: "making", "aria-label": t("making.title") },
    h("p", { class: "making-lead" }, t("making.lead")),
    h("ol", { class: "steps" }, steps.map(([name, body]) => step(name, body)))));
  return receipt;
}

function step(name, body) {
  return h("li", { class: `step step-${name}` },
    h("h3", {}, t(`making.${name}`)),
    h("p", { class: "why" }, t(`making.${name}.why`)),
    h("div", { class: "step-body" }, body));
}

function search(receipt) {
  const rewritten = receipt.search_query !== receipt.answer.question;
  const weights = Object.entries(receipt.weights);
  return [
    h("p", { class: "query" }, receipt.answer.question),
    rewritten && h("p", { class: "query rewritten" }, h("span", { class: "small muted" }, t("making.rewritten")), receipt.search_query),
    weights.length > 0 && h("div", { class: "weights" }, weights.map(([leg, share], i) =>
      h("div", { class: "weight", style: { "--share": share, "--tone": `var(--c${i + 1})` } }, h("span", { class: "small" }, `${t(`leg.${leg}`)} ${Math.round(share * 100)} %`)))),
  ];
}

function settings(receipt) {
  const { answer, sampling } = receipt;
  const rows = [
    ["model", answer.model.split("/").at(-1)], ["temperature", sampling.temperature], ["top_p", sampling.top_p],
    ["top_k", sampling.top_k || t("making.nolimit")], ["seed", sampling.seed ?? "–"], ["max_tokens", number(receipt.max_tokens)],
    ["finish", receipt.finish_reason || "–"], ["index", receipt.index_generation], ["made", receipt.created_at ? moment(receipt.created_at) : "–"],
  ];
  return [
    h("dl", { class: "facts" }, rows.map(([name, value]) => h("div", {}, h("dt", {}, t(`setting.${name}`)), h("dd", { class: "num" }, value)))),
    h("p", { class: "small" },
      h("a", { href: `/answers/${answer.answer_id}` }, t("making.permalink")), " · ",
      h("a", { href: `/api/v1/answers/${answer.answer_id}`, target: "_blank", rel: "noopener" }, t("making.json"))),
  ];
}

function styles() {
  if (document.querySelector(`link[href="${STYLES}"]`)) return Promise.resolve();
  const link = h("link", { rel: "stylesheet", href: STYLES });
  const loaded = new Promise((resolve) => {
    link.addEventListener("load", resolve);
    link.addEventListener("error", resolve);
  });
  document.head.append(link);
  return loaded;
}
