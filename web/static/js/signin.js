/** The sign-in dialog, shown when a reply says that a key is needed. The key goes to the server once and is not kept here. */

import { h } from "./dom.js";
import { t } from "./i18n.js";

let pending = null;

/** Ask for a key until one is accepted; false if the reader closes the dialog. Several callers share one dialog. */
export function signIn() {
  pending ??= ask().finally(() => {
    pending = null;
  });
  return pending;
}

function ask() {
  const field = h("input", { type: "password", name: "key", autocomplete: "current-password", required: true, id: "signin-key" });
  const problem = h("p", { class: "small problem", role: "alert" });
  const form = h(
    "form", { method: "dialog", class: "signin" },
    h("h2", { id: "signin-title" }, t("signin.title")),
    h("p", { class: "muted" }, t("signin.text")),
    h("label", { htmlFor: "signin-key" }, t("signin.key")), field, problem,
    h("div", { class: "dialog-actions" },
      h("button", { type: "button", value: "cancel", on: { click: () => dialog.close("cancel") } }, t("cancel")),
      h("button", { type: "submit", class: "primary" }, t("signin.go"))),
  );
  const dialog = h("dialog", { "aria-labelledby": "signin-title" }, form);
  document.body.append(dialog);
  dialog.showModal();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const reply = await fetch("/api/v1/session", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ key: field.value.trim() }),
    });
    if (reply.ok) {
      document.dispatchEvent(new Event("folio:signed-in"));
      dialog.close("in");
    } else {
      problem.textContent = t("signin.wrong");
    }
  });
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "in");
    });
  });
}
