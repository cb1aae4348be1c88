/** The list of earlier conversations: open one, or delete it. */

import { call, explain, query } from "../api.js";
import { h, icon } from "../dom.js";
import { ago, t } from "../i18n.js";
import { toast } from "../toast.js";

const PAGE = 50;

/** `onOpen(id)` shows a conversation; `onDeleted(id)` is told when one is gone. */
export class History {
  constructor(element, button, { onOpen, onDeleted }) {
    this.element = element;
    this.button = button;
    this.onOpen = onOpen;
    this.onDeleted = onDeleted;
    this.current = null;
    this.list = h("ul", { class: "history-list" });
    element.append(
      h("div", { class: "panel-head" }, h("h2", {}, t("history.title")),
        h("button", { type: "button", class: "quiet icon", "aria-label": t("close"), on: { click: () => this.toggle(false) } }, icon("close"))),
      this.list);
    button.addEventListener("click", () => this.toggle(element.hidden));
    document.addEventListener("pointerdown", (event) => {
      if (!element.hidden && !element.contains(event.target) && !button.contains(event.target)) this.toggle(false);
    });
    element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.toggle(false);
      button.focus();
    });
  }

  /** Show or hide the list. */
  toggle(open) {
    this.element.hidden = !open;
    this.button.setAttribute("aria-expanded", String(open));
    if (open) this.#load().then(() => this.element.querySelector("button").focus());
  }

  /** Load again, if it is shown; `current` is the open conversation. */
  refresh(current) {
    this.current = current;
    if (!this.element.hidden) this.#load();
  }

  async #load() {
    try {
      this.list.replaceChildren(...(await this.#page("")));
      if (!this.list.childElementCount) this.list.append(h("li", { class: "muted small" }, t("history.empty")));
    } catch (error) {
      this.list.replaceChildren(h("li", { class: "problem small" }, explain(error).title));
    }
  }

  /** The rows of a page, the last one a button for the page after it. */
  async #page(cursor) {
    const { items, next_cursor: next } = await call(`/api/v1/conversations${query({ limit: PAGE, cursor })}`);
    const rows = items.map((item) => this.#row(item));
    if (next) rows.push(h("li", {}, h("button", { type: "button", class: "quiet more", on: { click: (event) => this.#more(event.currentTarget.parentElement, next) } }, t("list.more"))));
    return rows;
  }

  async #more(place, cursor) {
    try {
      place.replaceWith(...(await this.#page(cursor)));
    } catch (error) {
      toast(explain(error).title, "bad");
    }
  }

  #row(item) {
    const title = item.title || t("history.untitled");
    return h("li", { "aria-current": item.id === this.current ? "true" : undefined },
      h("button", { type: "button", class: "quiet open", on: { click: () => this.#open(item.id) } },
        h("span", {}, title), h("small", { class: "muted" }, ago(item.updated_at))),
      h("button", { type: "button", class: "quiet icon", "aria-label": t("history.delete", { title }), title: t("delete"),
        on: { click: () => this.#delete(item.id) } }, icon("trash")));
  }

  async #open(id) {
    if (matchMedia("(max-width: 1100px)").matches) this.toggle(false);
    try {
      await this.onOpen(id);
    } catch (error) {
      toast(explain(error).title, "bad");
    }
  }

  async #delete(id) {
    try {
      await call(`/api/v1/conversations/${encodeURIComponent(id)}`, { method: "DELETE" });
      this.onDeleted(id);
      await this.#load();
    } catch (error) {
      toast(explain(error).title, "bad");
    }
  }
}
