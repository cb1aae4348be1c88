/** The page of the audit log: who ingested, deleted or changed keys, and when; newest first. For administrators. */

import { all, call, explain, query } from "../api.js";
import { byId, h } from "../dom.js";
import { has, moment, t } from "../i18n.js";

const PAGE = 50;
const LINKS = { "documents.ingest": "job", "job.cancel": "job", "job.retry": "job" };
const names = new Map();
let body = null;
let cursor = "";

async function more() {
  try {
    const page = await call(`/api/v1/audit${query({ limit: PAGE, cursor })}`);
    if (!body) start(page.items.length);
    body?.append(...page.items.map(row));
    cursor = page.next_cursor ?? "";
    byId("more-lines").hidden = !cursor;
  } catch (error) {
    const { title, detail } = explain(error);
    byId("lines").replaceChildren(h("p", { class: "problem", role: "alert" }, `${title} ${detail}`));
  }
}

function start(lines) {
  if (!lines) return byId("lines").replaceChildren(h("p", { class: "empty card" }, t("audit.none")));
  body = h("tbody");
  const head = ["when", "who", "what", "detail"].map((name) => h("th", { scope: "col", class: `c-${name}` }, t(`audit.${name}`)));
  byId("lines").replaceChildren(h("table", { class: "ledger card" }, h("thead", {}, h("tr", {}, head)), body));
}

function row(line) {
  return h("tr", {},
    h("td", { class: "when" }, h("time", { dateTime: line.at }, moment(line.at))),
    h("td", { class: "c-who" }, who(line.actor)),
    h("td", { class: "c-what" }, h("b", {}, has(`audit.${line.action}`) ? t(`audit.${line.action}`) : line.action)),
    h("td", { class: "c-detail" }, about(line), h("code", { class: "small muted" }, kind(line))));
}

function who(actor) {
  if (!actor) return t("audit.anybody");
  if (actor === "cli") return t("audit.cli");
  const [door, user] = actor.split(/:(.*)/s);
  if (user && has(`audit.${door}.user`)) return t(`audit.${door}.user`, { user });
  return names.get(actor) ?? h("code", { class: "small" }, actor.slice(0, 8));
}

/** What the line is about, in words: names and places where the line has them. */
function about({ subject, detail }) {
  const words = [detail.name, detail.uri, detail.collection && t("audit.in", { collection: detail.collection }), detail.scopes?.map((scope) => t(`scope.${scope}`)).join(", ")];
  const found = words.filter(Boolean);
  return h("span", {}, found.length ? found.join(" · ") : isId(subject) ? "" : subject);
}

const isId = (subject) => /^[0-9a-f]{32}$/.test(subject);

function kind({ action, subject }) {
  if (!isId(subject)) return "";
  return `${t(`audit.id.${LINKS[action] ?? action.split(".")[0].replace(/s$/, "")}`)} ${subject.slice(0, 8)}`;
}

for (const key of await all("/api/v1/keys").catch(() => [])) names.set(key.id, key.name);
byId("more-lines").addEventListener("click", more);
await more();
