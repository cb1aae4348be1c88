/** The list of a collection's documents, searched by title and address, page by page. */

import { call, explain, query } from "../api.js";
import { h } from "../dom.js";
import { ago, bytes, number, t } from "../i18n.js";
import { kind } from "../media.js";

const PAGE = 50;
const PAUSE_MS = 250;

/** `onOpen(id)` is called when a document is chosen. */
export class DocumentList {
  constructor(element, search, more, onOpen) {
    this.element = element;
    this.search = search;
    this.more = more;
    this.onOpen = onOpen;
    this.collection = "default";
    this.body = null;
    let timer;
    search.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.load(), PAUSE_MS);
    });
    more.addEventListener("click", () => this.#page());
  }

  /** Show another collection. */
  show(collection) {
    this.collection = collection;
    return this.load();
  }

  /** Read the list from its beginning. */
  load() {
    this.cursor = "";
    return this.#page();
  }

  async #page() {
    const first = !this.cursor;
    const wanted = `${this.collection}\n${this.search.value}`;
    try {
      const page = await call(`/api/v1/documents${query({ collection: this.collection, query: this.search.value.trim(), limit: PAGE, cursor: this.cursor })}`);
      if (wanted !== `${this.collection}\n${this.search.value}`) return;
      if (first) this.#start(page);
      this.body?.append(...page.items.map((item) => this.#row(item)));
      this.cursor = page.next_cursor ?? "";
      this.more.hidden = !this.cursor;
    } catch (error) {
      this.more.hidden = true;
      const { title, detail, code } = explain(error);
      if (code === "not_found") return this.#start({ items: [], total: 0 });
      this.element.replaceChildren(h("p", { class: "problem", role: "alert" }, `${title} ${detail}`));
    }
  }

  #start(page) {
    this.body = page.items.length ? h("tbody") : null;
    if (!this.body) {
      this.element.replaceChildren(h("p", { class: "empty card" }, t(this.search.value ? "list.nothing" : "list.empty")));
      return;
    }
    const head = ["document", "type", "size", "chunks", "version", "updated"].map((name) => h("th", { scope: "col", class: `c-${name}` }, t(`list.${name}`)));
    this.element.replaceChildren(h("table", { class: "documents card" }, h("thead", {}, h("tr", {}, head)), this.body));
  }

  #row(item) {
    return h("tr", {},
      h("td", { class: "c-title" },
        h("button", { type: "button", class: "quiet title", on: { click: () => this.onOpen(item.id) } }, item.title),
        h("span", { class: "small muted uri" }, item.uri)),
      h("td", { class: "c-type" }, h("span", { class: "chip" }, kind(item.media_type))),
      h("td", { class: "c-size num" }, bytes(item.size_bytes)),
      h("td", { class: "c-chunks num", dataset: { label: t("list.chunks") } }, number(item.chunks)),
      h("td", { class: "c-version num", dataset: { label: t("list.version") } }, item.version),
      h("td", { class: "c-updated muted" }, ago(item.updated_at)));
  }
}
