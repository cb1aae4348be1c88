/** The page of API keys: make one and see it once, look at their use, revoke. For administrators. */

import { all, call, explain } from "../api.js";
import { confirm } from "../dialogs.js";
import { byId, h } from "../dom.js";
import { ago, moment, t } from "../i18n.js";
import { toast } from "../toast.js";
import { NewKey } from "./newkey.js";

async function show() {
  try {
    const items = await all("/api/v1/keys");
    const active = items.filter((key) => !key.revoked_at);
    const revoked = items.filter((key) => key.revoked_at);
    byId("open-access").hidden = active.length > 0;
    byId("keys").replaceChildren(active.length ? table(active) : h("p", { class: "empty card" }, t("keys.none")));
    byId("revoked").hidden = !revoked.length;
    byId("revoked-keys").replaceChildren(revoked.length ? table(revoked) : "");
    form.first = !active.length;
  } catch (error) {
    const { title, detail } = explain(error);
    byId("keys").replaceChildren(h("p", { class: "problem", role: "alert" }, `${title} ${detail}`));
  }
}

function table(keys) {
  const head = ["name", "scopes", "collections", "created", "used", "act"].map((name) =>
    h("th", { scope: "col", class: `c-${name}` }, name === "act" ? h("span", { class: "visually-hidden" }, t("keys.revoke")) : t(`keys.${name}`)));
  return h("table", { class: "ledger card" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, keys.map(row)));
}

function row(key) {
  const used = key.last_used_at ? h("time", { dateTime: key.last_used_at, title: moment(key.last_used_at) }, ago(key.last_used_at)) : t("keys.neverused");
  return h("tr", {},
    h("td", { class: "c-name" }, h("b", {}, key.name), h("code", { class: "small muted" }, key.id.slice(0, 8))),
    h("td", { class: "c-scopes" }, key.scopes.map((scope) => h("span", { class: `chip scope-${scope}` }, t(`scope.${scope}`)))),
    h("td", { dataset: { label: t("keys.collections") } }, key.collections.join(", ") || t("keys.all")),
    h("td", { class: "when", dataset: { label: t("keys.created") } }, moment(key.created_at)),
    h("td", { class: "when", dataset: { label: t("keys.used") } }, used),
    h("td", { class: "c-act" }, key.revoked_at
      ? h("span", { class: "small muted" }, ago(key.revoked_at))
      : h("button", { type: "button", class: "quiet danger", "aria-label": t("keys.revoke.one", { name: key.name }), on: { click: () => revoke(key) } }, t("keys.revoke"))));
}

async function revoke(key) {
  if (!(await confirm({ title: t("keys.revoke.sure", { name: key.name }), text: t("keys.revoke.text"), go: t("keys.revoke") }))) return;
  try {
    await call(`/api/v1/keys/${encodeURIComponent(key.id)}`, { method: "DELETE" });
    toast(t("keys.revoked.done", { name: key.name }));
  } catch (error) {
    const { title, detail } = explain(error);
    toast(`${title} ${detail}`, "bad");
  }
  await show();
}

const form = new NewKey(byId("new-key"), show);
await show();
await form.offerCollections();
