/** The documents page: what comes in, how its jobs go, and what is there. */

import { call, explain } from "../api.js";
import { byId } from "../dom.js";
import { toast } from "../toast.js";
import { acceptDrops, sendFiles } from "../uploads.js";
import { Collections } from "./collections.js";
import { Detail } from "./detail.js";
import { DocumentList } from "./list.js";
import { Jobs } from "./jobs.js";

const list = new DocumentList(byId("documents"), byId("search"), byId("more-documents"), (id) => detail.open(id));
const detail = new Detail(byId("detail"), () => {
  list.load();
  collections.load();
});
const jobs = new Jobs(byId("jobs-section"), byId("jobs"), byId("more-jobs"), () => {
  list.load();
  collections.load();
});
const collections = new Collections((name) => {
  list.show(name);
  jobs.show(name);
});

async function add(files) {
  if (!files.length) return;
  const sending = jobs.sending(files.length);
  try {
    const id = await sendFiles(files, collections.name, sending.progress);
    jobs.follow(id);
  } catch (error) {
    const { title, detail: text } = explain(error);
    toast(`${title} ${text}`, "bad");
  }
  sending.remove();
}

for (const [button, input] of [["pick-files", "files"], ["pick-folder", "folder"]]) {
  byId(button).addEventListener("click", () => byId(input).click());
  byId(input).addEventListener("change", (event) => {
    add([...event.target.files]);
    event.target.value = "";
  });
}

byId("pick-url").addEventListener("click", (event) => {
  const form = byId("url-form");
  form.hidden = !form.hidden;
  event.currentTarget.setAttribute("aria-expanded", String(!form.hidden));
  if (!form.hidden) byId("url").focus();
});

/** How much of a site comes with an address. */
const REACH = { page: {}, links: { crawl: { depth: 1 } }, deep: { crawl: { depth: 2 } }, sitemap: { sitemap: {} } };

byId("url-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const { job_id: id } = await call("/api/v1/documents", { method: "POST", json: { url: byId("url").value, collection: collections.name, ...REACH[byId("url-reach").value] } });
    byId("url").value = "";
    jobs.follow(id);
  } catch (error) {
    const { title, detail: text } = explain(error);
    toast(`${title} ${text}`, "bad");
  }
});

acceptDrops(document.body, add);
await collections.load();
collections.choose(new URLSearchParams(location.search).get("collection") ?? "default");
const wanted = new URLSearchParams(location.search).get("document");
if (wanted) detail.open(wanted);
