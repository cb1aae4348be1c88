/** Every token that the model wrote, coloured by its probability, with what else it might have written. */

import { h } from "../dom.js";
import { count, t } from "../i18n.js";

const STEPS = [0.95, 0.8, 0.6, 0.4, 0.2];

/** Heat of the tokens with an inspector below; arrow keys walk. Null where probabilities were not kept. */
export function tokens(receipt) {
  const entries = receipt.logprobs;
  if (!entries.length) return [h("p", { class: "muted" }, t("making.notokens"))];
  const inspector = h("div", { class: "inspector", "aria-live": "polite" });
  const buttons = entries.map((entry, i) =>
    h("button", { type: "button", class: `tok p${level(entry)}`, tabIndex: i ? -1 : 0, "aria-label": `${visible(entry.token)} ${percent(entry.logprob)}` }, visible(entry.token)));
  const choose = (i) => {
    for (const button of buttons) button.classList.remove("chosen");
    buttons[i].classList.add("chosen");
    inspector.replaceChildren(...inspect(entries[i], i));
  };
  const field = h("div", { class: "token-field", role: "group", "aria-label": t("making.tokens") }, buttons.flatMap((button, i) => (/\n/.test(entries[i].token) ? [button, h("br")] : [button])));
  field.addEventListener("pointerover", (event) => event.target.matches(".tok") && choose(buttons.indexOf(event.target)));
  field.addEventListener("focusin", (event) => event.target.matches(".tok") && choose(buttons.indexOf(event.target)));
  field.addEventListener("keydown", (event) => walk(event, buttons));
  choose(hesitation(entries));
  return [legend(), field, inspector, h("p", { class: "small muted" }, t("making.tokens.count", { tokens: count("tokens", entries.length), sure: entries.filter((entry) => probability(entry.logprob) > 0.95).length }))];
}

const probability = (logprob) => Math.exp(logprob);
const level = (entry) => STEPS.filter((step) => probability(entry.logprob) < step).length;
const visible = (token) => token.replace(/\n/g, "⏎").replace(/^ $/, "␣") || "∅";

function percent(logprob) {
  const p = probability(logprob) * 100;
  return p > 99.95 ? "100 %" : p < 0.1 ? "< 0.1 %" : `${p.toFixed(1)} %`;
}

/** The place where the model was least sure: the most telling one to show first. */
function hesitation(entries) {
  return entries.reduce((least, entry, i) => (entry.logprob < entries[least].logprob ? i : least), 0);
}

function walk(event, buttons) {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const here = buttons.indexOf(document.activeElement);
  const next = buttons[here + by];
  if (!by || !next) return;
  event.preventDefault();
  buttons[here].tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function inspect(entry, i) {
  const others = Object.entries(entry.alternatives).sort(([, a], [, b]) => b - a).slice(0, 6);
  return [
    h("p", { class: "small" }, t("making.token", { n: i + 1 }), h("code", {}, visible(entry.token)), h("b", { class: "num" }, percent(entry.logprob))),
    h("ul", {}, others.map(([token, logprob]) =>
      h("li", { class: token === entry.token ? "taken" : "" }, h("code", {}, visible(token)),
        h("span", { class: "bar" }, h("i", { style: { width: `${probability(logprob) * 100}%` } })), h("span", { class: "num small" }, percent(logprob))))),
  ];
}

function legend() {
  return h("p", { class: "heat-legend small muted" }, t("making.sure"), [0, 1, 2, 3, 4, 5].map((n) => h("i", { class: `p${n}` })), t("making.unsure"));
}
