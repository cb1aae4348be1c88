/** Small questions to the reader, as modal dialogs. */

import { h } from "./dom.js";
import { t } from "./i18n.js";

/** Ask for a yes; resolves to true or false. */
export function confirm({ title, text, go }) {
  return show(title, [h("p", {}, text)], h("button", { type: "submit", class: "primary", value: "yes" }, go)).then((dialog) => dialog.returnValue === "yes");
}

/** Ask for a line of text; resolves to it, or to "" when cancelled. */
export function prompt({ title, label, go }) {
  const field = h("input", { type: "text", required: true, maxLength: 200, id: "dialog-field", autocomplete: "off" });
  return show(title, [h("label", { htmlFor: "dialog-field" }, label), field], h("button", { type: "submit", class: "primary", value: "yes" }, go))
    .then((dialog) => (dialog.returnValue === "yes" ? field.value.trim() : ""));
}

/** Tell something that must be seen; resolves when closed. */
export function tell({ title, body }) {
  return show(title, body, null, t("close"));
}

function show(title, body, action, dismiss = t("cancel")) {
  const dialog = h("dialog", { "aria-labelledby": "dialog-title" },
    h("form", { method: "dialog" }, h("h2", { id: "dialog-title" }, title), ...body,
      h("div", { class: "dialog-actions" }, h("button", { type: "button", on: { click: () => dialog.close("no") } }, dismiss), action)));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog);
    });
  });
}
