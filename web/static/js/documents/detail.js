/** A document in a dialog: its facts, its text, its chunks, and deleting it with the receipt. */

import { call, explain, query } from "../api.js";
import { confirm, tell } from "../dialogs.js";
import { h, icon } from "../dom.js";
import { bytes, count, moment, number, t } from "../i18n.js";
import { kind } from "../media.js";
import { toast } from "../toast.js";

const PIECE = 20_000;
const CHUNKS = 50;

/** `onDeleted()` is called after a document is gone. */
export class Detail {
  constructor(dialog, onDeleted) {
    this.dialog = dialog;
    this.onDeleted = onDeleted;
  }

  /** Show a document. */
  async open(id) {
    try {
      const item = await call(`/api/v1/documents/${id}`);
      this.#draw(item);
      this.dialog.showModal();
    } catch (error) {
      toast(explain(error).title, "bad");
    }
  }

  #draw(item) {
    const body = h("div", { class: "detail-body", tabIndex: 0, role: "tabpanel", id: "detail-body", "aria-label": t("source.body") });
    const tabs = [["text", drawText], ["chunks", drawChunks]].map(([name, draw]) =>
      h("button", { type: "button", class: "quiet", role: "tab", "aria-controls": "detail-body", on: { click: (event) => this.#tab(event.currentTarget, body, () => draw(item)) } }, t(`detail.${name}`)));
    this.dialog.replaceChildren(
      h("div", { class: "panel-head" }, h("h2", { id: "detail-title" }, item.title),
        h("button", { type: "button", class: "quiet icon", "aria-label": t("close"), on: { click: () => this.dialog.close() } }, icon("close"))),
      h("p", { class: "small muted" }, item.uri), facts(item),
      h("div", { class: "detail-bar" }, h("div", { role: "tablist", class: "tabs" }, tabs),
        h("a", { class: "button quiet", href: `/api/v1/documents/${item.id}/file`, target: "_blank", rel: "noopener" }, icon("open"), t("source.original")),
        h("button", { type: "button", class: "quiet danger", on: { click: () => this.#delete(item) } }, icon("trash"), t("delete"))),
      body);
    tabs[0].click();
  }

  async #tab(tab, body, draw) {
    for (const each of tab.parentElement.children) each.setAttribute("aria-selected", String(each === tab));
    body.replaceChildren(h("p", { class: "muted" }, t("loading")));
    try {
      body.replaceChildren(...(await draw()));
      body.scrollTop = 0;
    } catch (error) {
      body.replaceChildren(h("p", { class: "problem" }, explain(error).title));
    }
  }

  async #delete(item) {
    if (!(await confirm({ title: t("detail.delete.sure"), text: t("detail.delete.text", { title: item.title }), go: t("delete") }))) return;
    try {
      const receipt = await call(`/api/v1/documents/${item.id}`, { method: "DELETE" });
      this.dialog.close();
      this.onDeleted();
      await tell({ title: t("receipt.title"), body: receiptLines(item, receipt) });
    } catch (error) {
      const { title, detail } = explain(error);
      toast(`${title} ${detail}`, "bad");
    }
  }
}

function facts(item) {
  const rows = [
    ["list.type", kind(item.media_type)], ["list.size", bytes(item.size_bytes)], ["list.version", item.version], ["list.chunks", number(item.chunks)],
    ["detail.pages", item.pages || ""], ["filter.language", item.language], ["filter.tags", item.tags?.join(", ")], ["list.updated", moment(item.updated_at)],
  ].filter(([, value]) => value !== "" && value !== undefined && value !== null);
  return h("dl", { class: "facts" }, rows.map(([name, value]) => h("div", {}, h("dt", {}, t(name)), h("dd", {}, value))));
}

async function drawText(item) {
  const { text } = await call(`/api/v1/documents/${item.id}/text`);
  const place = h("div", { class: "document-text" });
  let shown = 0;
  const more = h("button", { type: "button", class: "quiet more", on: { click: grow } }, t("source.later"));
  function grow() {
    place.append(text.slice(shown, shown + PIECE));
    shown += PIECE;
    more.hidden = shown >= text.length;
  }
  grow();
  return [place, more];
}

async function drawChunks(item) {
  const list = h("ol", { class: "chunk-list" });
  let cursor = "";
  const more = h("button", { type: "button", class: "quiet more", on: { click: () => grow().catch((error) => toast(explain(error).title, "bad")) } }, t("source.later"));
  async function grow() {
    const page = await call(`/api/v1/documents/${item.id}/chunks${query({ limit: CHUNKS, cursor })}`);
    list.append(...page.items.map(chunkRow));
    cursor = page.next_cursor ?? "";
    more.hidden = !cursor;
  }
  await grow();
  return [h("p", { class: "small muted" }, t("detail.chunks.text")), list, more];
}

function chunkRow(chunk) {
  return h("li", { class: "chunk" },
    h("p", { class: "small muted num" }, [t("detail.chunk", { n: chunk.ordinal + 1 }), count("tokens", chunk.token_count), `${chunk.start}–${chunk.end}`,
      chunk.page_start ? t("page", { n: chunk.page_start }) : "", (chunk.heading_path ?? []).join(" › ")].filter(Boolean).join(" · ")),
    h("p", { class: "document-text" }, chunk.text));
}

function receiptLines(item, receipt) {
  const checked = Object.entries(receipt.checked ?? {}).map(([name, gone]) =>
    h("li", {}, icon(gone ? "check" : "warn"), t(gone ? "receipt.gone" : "receipt.found", { place: t(`receipt.${name}`) })));
  return [
    h("p", {}, t("receipt.text", { title: item.title, chunks: count("chunks", receipt.chunks_removed) })),
    h("ul", { class: "receipt" }, checked),
    receipt.answers_withdrawn > 0 && h("p", {}, t("receipt.withdrawn", { n: receipt.answers_withdrawn })),
    receipt.file_shared && h("p", {}, t("receipt.shared")),
    h("p", { class: receipt.verified ? "good" : "problem" }, t(receipt.verified ? "receipt.verified" : "receipt.unverified")),
    h("p", { class: "small muted" }, receipt.document_id),
  ];
}
