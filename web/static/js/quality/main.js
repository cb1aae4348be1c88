/** The quality page: evaluation runs over time, and the questions whose answers readers marked as bad. */

import { call, explain } from "../api.js";
import { byId, h } from "../dom.js";
import { ago, t } from "../i18n.js";
import { runGroup } from "./runs.js";

async function showRuns() {
  const { items } = await call("/api/v1/evaluations?limit=200");
  const groups = Map.groupBy ? Map.groupBy(items, groupOf) : grouped(items);
  byId("runs").replaceChildren(...[...groups.values()].map(runGroup));
  if (!items.length) byId("runs").append(h("p", { class: "empty card" }, t("quality.none")));
}

const groupOf = (run) => `${run.kind}\n${run.dataset}`;

function grouped(items) {
  const groups = new Map();
  for (const item of items) groups.set(groupOf(item), [...(groups.get(groupOf(item)) ?? []), item]);
  return groups;
}

async function showMarked() {
  const { items } = await call("/api/v1/feedback?rating=-1&limit=200");
  byId("marked").replaceChildren(...items.map(markedRow));
  if (!items.length) byId("marked").append(h("p", { class: "empty card" }, t("quality.marked.none")));
  byId("export").hidden = !items.length;
  byId("export").addEventListener("click", () => save(items));
}

function markedRow(item) {
  return h("article", { class: "marked-row card" },
    h("h3", {}, item.question),
    h("p", { class: "said" }, item.answer),
    item.comment && h("p", { class: "comment" }, item.comment),
    h("p", { class: "small muted" }, `${item.collection} · ${ago(item.created_at)} · `, h("a", { href: `/answers/${item.answer_id}` }, t("quality.made"))));
}

/** The questions in the layout of `questions.jsonl`, with the expected answers left to write. */
function save(items) {
  const lines = items.map((item, i) => JSON.stringify({
    id: `marked-${i + 1}`, lang: item.language || "en", question: item.question, answerable: true, answers: [], document: "", note: item.comment,
  }));
  const address = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "application/jsonl" }));
  h("a", { href: address, download: "questions.jsonl" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

async function attempt(place, work) {
  try {
    await work();
  } catch (error) {
    const { title, detail } = explain(error);
    byId(place).replaceChildren(h("p", { class: "problem", role: "alert" }, `${title} ${detail}`));
  }
}

await Promise.all([attempt("runs", showRuns), attempt("marked", showMarked)]);
