/** Agent mode: the tools that the model called before it answered, as a trace. */

import { h, icon } from "../dom.js";
import { duration, has, t } from "../i18n.js";

const ICONS = { search: "search", list_documents: "list", read_document: "open" };

/** One row a call: the tool, what the model asked of it, what came back, how long it took. Null where none was called. */
export function agent(receipt) {
  const { steps } = receipt;
  if (!steps.length) return null;
  const longest = Math.max(...steps.map((step) => step.milliseconds), 1);
  return h("ol", { class: "calls" }, steps.map((step) => call(step, longest)));
}

function call({ tool, arguments: given, result, milliseconds }, longest) {
  const asked = Object.values(given).filter((value) => value !== "").join(", ");
  return h("li", { class: "call" }, icon(ICONS[tool] ?? "code"),
    h("div", {},
      h("p", {}, h("b", {}, has(`tool.${tool}`) ? t(`tool.${tool}`) : tool), asked && h("q", {}, asked)),
      h("p", { class: "small muted" }, result),
      h("div", { class: "call-time" }, h("div", { class: "bar" }, h("i", { style: { width: `${Math.max(2, (milliseconds / longest) * 100)}%` } })), h("span", { class: "small num muted" }, duration(milliseconds)))));
}
