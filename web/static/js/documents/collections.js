/** The choice of a collection, with making and deleting one. */

import { all, call, explain } from "../api.js";
import { confirm, prompt } from "../dialogs.js";
import { byId, h } from "../dom.js";
import { count, t } from "../i18n.js";
import { toast } from "../toast.js";

/** `onChange(name)` is called whenever another collection is chosen. */
export class Collections {
  constructor(onChange) {
    this.onChange = onChange;
    this.picker = byId("collection");
    this.items = [];
    this.picker.addEventListener("change", () => this.choose(this.picker.value));
    byId("new-collection").addEventListener("click", () => this.#create());
    byId("delete-collection").addEventListener("click", () => this.#delete());
  }

  /** The chosen collection's name. */
  get name() {
    return this.picker.value || "default";
  }

  /** Read the collections again, keeping the choice. */
  async load() {
    const chosen = this.name;
    const items = await all("/api/v1/collections");
    this.items = items.some((item) => item.name === "default") ? items : [{ name: "default", documents: 0, chunks: 0 }, ...items];
    this.picker.replaceChildren(...this.items.map((item) => h("option", { value: item.name }, item.name)));
    this.picker.value = this.items.some((item) => item.name === chosen) ? chosen : "default";
    this.#describe();
  }

  /** Choose a collection by name; one that is not there leaves the choice. */
  choose(name) {
    if (this.items.some((item) => item.name === name)) this.picker.value = name;
    history.replaceState(null, "", this.name === "default" ? location.pathname : `?collection=${encodeURIComponent(this.name)}`);
    this.#describe();
    this.onChange(this.name);
  }

  #describe() {
    const item = this.items.find((each) => each.name === this.name);
    byId("collection-text").textContent = item.documents
      ? t("collection.text", { documents: count("documents", item.documents), chunks: count("chunks", item.chunks), model: item.embedding_model ?? "" })
      : t("documents.intro");
    byId("delete-collection").disabled = !item.id;
  }

  async #create() {
    const name = await prompt({ title: t("collection.new"), label: t("collection.name"), go: t("collection.create") });
    if (!name) return;
    await this.#attempt(async () => {
      await call("/api/v1/collections", { method: "POST", json: { name } });
      await this.load();
      this.choose(name);
    });
  }

  async #delete() {
    const item = this.items.find((each) => each.name === this.name);
    const sure = await confirm({ title: t("collection.delete.sure", { name: item.name }), text: t("collection.delete.text", { documents: count("documents", item.documents) }), go: t("delete") });
    if (!sure) return;
    await this.#attempt(async () => {
      await call(`/api/v1/collections/${encodeURIComponent(item.name)}`, { method: "DELETE" });
      await this.load();
      this.choose("default");
      toast(t("collection.deleted", { name: item.name }));
    });
  }

  async #attempt(work) {
    try {
      await work();
    } catch (error) {
      const { title, detail } = explain(error);
      toast(`${title} ${detail}`, "bad");
    }
  }
}
