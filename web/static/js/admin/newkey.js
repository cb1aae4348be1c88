/** The form that makes an API key, and the dialog that shows it, this once. */

import { all, call, explain } from "../api.js";
import { confirm, tell } from "../dialogs.js";
import { byId, h, icon } from "../dom.js";
import { t } from "../i18n.js";
import { toast } from "../toast.js";

/** `onMade()` is called after a key was made. `first`: no key exists yet, so this one ends open access. */
export class NewKey {
  constructor(form, onMade) {
    this.form = form;
    this.onMade = onMade;
    this.first = false;
    this.places = byId("key-collections");
    form.addEventListener("change", () => {
      const administers = this.#chosen("scope").includes("admin"); // which can't be limited
      const [all, some] = form.elements.reach;
      some.disabled = administers;
      if (administers) all.checked = true;
      this.places.hidden = this.#reach() === "all";
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#make();
    });
  }

  /** Offer the collections there are. */
  async offerCollections() {
    const items = await all("/api/v1/collections").catch(() => []);
    this.places.replaceChildren(...items.map(({ name }) =>
      h("label", { class: "choice" }, h("input", { type: "checkbox", name: "collection", value: name }), h("span", {}, name))));
  }

  #reach() {
    return this.form.elements.reach.value;
  }

  #chosen(name) {
    return [...this.form.querySelectorAll(`[name="${name}"]:checked`)].map((box) => box.value);
  }

  async #make() {
    const json = { name: byId("key-name").value.trim(), scopes: this.#chosen("scope"), collections: this.#reach() === "all" ? [] : this.#chosen("collection") };
    const missing = !json.scopes.length ? "keys.needscope" : this.#reach() === "some" && !json.collections.length ? "keys.needcollection" : "";
    byId("key-problem").textContent = missing && t(missing);
    if (missing) return;
    const locksOut = this.first && !json.scopes.includes("admin");
    if (locksOut && !(await confirm({ title: t("keys.lockout"), text: t("keys.lockout.text"), go: t("keys.create") }))) return;
    try {
      const made = await call("/api/v1/keys", { method: "POST", json });
      if (this.first) await signIn(made.key);
      this.form.reset();
      this.form.dispatchEvent(new Event("change"));
      await showOnce(made);
      this.onMade();
    } catch (error) {
      const { title, detail } = explain(error);
      byId("key-problem").textContent = `${title} ${detail}`;
    }
  }
}

/** The first key ends open access, this page's included; its maker stays in. */
async function signIn(key) {
  await call("/api/v1/session", { method: "POST", json: { key } });
  document.dispatchEvent(new Event("folio:signed-in"));
}

function showOnce(made) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(made.key);
      toast(t("keys.copied"));
    } catch {
      toast(t("copy.failed"), "bad");
    }
  };
  return tell({
    title: t("keys.made", { name: made.name }),
    body: [
      h("p", {}, t("keys.once")),
      h("div", { class: "secret" }, h("code", { tabIndex: 0, "aria-label": t("signin.key") }, made.key),
        h("button", { type: "button", class: "quiet icon", "aria-label": t("copy"), title: t("copy"), on: { click: copy } }, icon("copy"))),
      h("p", { class: "small muted" }, t("keys.send")),
    ],
  });
}
