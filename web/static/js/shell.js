/** What every page does: theme and language switches, the menu, and the state of the language model in the top bar. */

import { byId } from "./dom.js";
import { t } from "./i18n.js";
import { watchEngine } from "./engine.js";

const YEAR_S = 31_536_000;
const root = document.documentElement;

function remember(name, value) {
  document.cookie = `${name}=${value}; Path=/; Max-Age=${YEAR_S}; SameSite=Lax`;
}

byId("theme").addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  remember("folio_theme", root.dataset.theme);
});

byId("language").addEventListener("click", () => {
  remember("folio_language", root.dataset.lang === "zh" ? "en" : "zh");
  location.reload();
});

const leave = byId("sign-out");
leave.addEventListener("click", async () => {
  await fetch("/api/v1/session", { method: "DELETE" });
  location.assign("/");
});

/** The menu offers what this reader may do: signing out to whoever is signed in, keys and audit log to administrators. */
async function fillMenu() {
  const reply = await fetch("/api/v1/session", { headers: { Accept: "application/json" } });
  if (!reply.ok) return;
  const session = await reply.json();
  leave.hidden = byId("who").hidden = !session.signed_in;
  byId("who").textContent = t("signedin", { name: session.name });
  for (const link of document.querySelectorAll(".for-admins")) link.hidden = !session.scopes.includes("admin");
}

fillMenu();
document.addEventListener("folio:signed-in", fillMenu);

const place = byId("engine-state");
watchEngine((engine) => {
  place.dataset.state = engine.state;
  place.textContent = engine.state === "ready" ? engine.model : t(`engine.${engine.state}`);
  place.title = engine.detail;
});
