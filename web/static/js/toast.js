/** Short messages at the corner of the page; also read out, because their container is a live region. */

import { byId, h } from "./dom.js";

const SHOWN_MS = 5000;

/** Show a message for a few seconds; `tone` "bad" for failures. */
export function toast(text, tone = "") {
  const message = h("div", { class: "toast", dataset: { tone } }, text);
  byId("toasts").append(message);
  setTimeout(() => message.remove(), SHOWN_MS);
}
