/** The panel beside an answer that shows a citation in its document; a bottom sheet on a phone. */

import { call, explain } from "../api.js";
import { h, icon } from "../dom.js";
import { t } from "../i18n.js";
import { place } from "./passages.js";

/** `open(target, opener, citations)` shows `target`: `{document_id, title, media_type, page, start, end}`. */
export class SourcePanel {
  constructor(element) {
    this.element = element;
    this.opener = null;
    this.turn = 0;
    this.title = h("h2", { id: "source-title", tabIndex: -1 });
    this.where = h("p", { class: "small muted" });
    this.steps = h("div", { class: "source-steps" });
    this.original = h("a", { class: "button quiet icon", target: "_blank", rel: "noopener", "aria-label": t("source.original"), title: t("source.original") }, icon("open"));
    const close = h("button", { type: "button", class: "quiet icon", "aria-label": t("source.close"), title: t("source.close"), on: { click: () => this.close() } }, icon("close"));
    this.body = h("div", { class: "source-body", tabIndex: 0, role: "region", "aria-label": t("source.body") });
    element.append(h("div", { class: "grip", "aria-hidden": "true" }),
      h("div", { class: "panel-head" }, h("div", { class: "panel-title" }, this.title, this.where), this.steps, this.original, close), this.body);
  }

  get isOpen() {
    return !this.element.hidden;
  }

  /** Show a citation or passage; `citations` are its neighbours, for stepping from one to the next. */
  async open(target, opener = null, citations = []) {
    this.turn += 1;
    const turn = this.turn;
    this.opener = opener ?? this.opener;
    this.element.hidden = false;
    document.body.classList.add("with-source");
    this.title.textContent = target.title;
    this.where.textContent = place(target);
    this.original.href = `/api/v1/documents/${target.document_id}/file${target.page ? `#page=${target.page}` : ""}`;
    this.#steps(target, citations);
    this.body.replaceChildren(h("p", { class: "loading muted" }, t("loading")));
    this.title.focus({ preventScroll: true });
    try {
      const drawn = await this.#draw(target);
      if (turn !== this.turn) return;
      this.body.replaceChildren(...[drawn.element].flat());
      if (drawn.page) this.where.textContent = place({ ...target, page: drawn.page });
      drawn.reveal(this.body);
    } catch (error) {
      const { title, detail } = explain(error);
      if (turn === this.turn) this.body.replaceChildren(h("p", { class: "failure", role: "alert" }, icon("warn"), `${title} ${detail}`));
    }
  }

  /** Hide the panel and give the focus back. */
  close() {
    if (!this.isOpen) return;
    this.turn += 1;
    this.element.hidden = true;
    this.body.replaceChildren();
    document.body.classList.remove("with-source");
    this.opener?.focus({ preventScroll: true });
    this.opener = null;
  }

  async #draw(target) {
    if (target.media_type === "application/pdf") {
      const { drawPdf } = await import("./pdfview.js");
      return drawPdf(target, this.body);
    }
    const { text } = await call(`/api/v1/documents/${target.document_id}/text`);
    const { drawText } = await import("./textview.js");
    return drawText(text, target.start, target.end);
  }

  #steps(target, citations) {
    const here = citations.findIndex((each) => each === target);
    this.steps.hidden = here < 0 || citations.length < 2;
    if (this.steps.hidden) return;
    const step = (name, by) => {
      const to = citations[here + by];
      const label = t(`source.${name}`);
      return h("button", { type: "button", class: "quiet icon", disabled: !to, "aria-label": label, title: label, on: { click: () => this.open(to, this.opener, citations) } }, icon(name));
    };
    this.steps.replaceChildren(step("prev", -1), h("span", { class: "small num" }, `${here + 1}/${citations.length}`), step("next", 1));
  }
}
