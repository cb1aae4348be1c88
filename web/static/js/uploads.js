/** Files on their way into a collection: dropping, sending with progress, and the job's progress until it ends. */

import { ApiError, call, explain } from "./api.js";
import { h, icon } from "./dom.js";
import { count, t } from "./i18n.js";

const POLL_MS = 700;
const KEPT_MS = 12_000;
/** States that a job does not leave by itself. */
export const FINISHED = new Set(["done", "failed", "cancelled"]);

/** Send files as one job; `onSent(fraction)` while they travel. Resolves to the job's id. A file's `path` is kept. */
export function sendFiles(files, collection, onSent = () => {}) {
  const form = new FormData();
  form.append("collection", collection);
  for (const file of files) form.append("files", file, file.path || file.webkitRelativePath || file.name);
  // fetch can't tell how much of a body has been sent
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/api/v1/documents");
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("Idempotency-Key", crypto.getRandomValues(new Uint32Array(4)).join("-"));
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => event.lengthComputable && onSent(event.loaded / event.total));
    request.addEventListener("error", () => reject(new TypeError("The upload failed")));
    request.addEventListener("load", () => {
      if (request.status < 400) resolve(request.response.job_id);
      else reject(new ApiError(request.response ?? {}, request.status));
    });
    request.send(form);
  });
}

/** Follow a job until it is finished; `onChange(job)` at every look. */
export async function followJob(id, onChange) {
  for (;;) {
    const job = await call(`/api/v1/jobs/${id}`);
    onChange(job);
    if (FINISHED.has(job.state)) return job;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** The share of a job that is done, 0 to 1: whole files, and of those at work their chunks. */
export function progress(job) {
  const { total, done, unchanged, failed, cancelled } = job.files;
  if (!total) return 0;
  const working = job.items.filter((item) => item.state === "running" && item.chunks_total);
  const partial = working.reduce((sum, item) => sum + item.chunks_done / item.chunks_total, 0);
  return Math.min(1, (done + unchanged + failed + cancelled + partial) / total);
}

/** Small cards above the question box, one a job; each goes away some time after a job without failures. */
export class JobTray {
  constructor(element, onFinished) {
    this.element = element;
    this.onFinished = onFinished;
  }

  /** Send files and show how it goes. */
  async upload(files, collection) {
    if (!files.length) return;
    const fill = h("i");
    const text = h("span", {}, t("upload.sending", { files: count("files", files.length) }));
    const problems = h("ul", { class: "job-problems" });
    const remove = h("button", { type: "button", class: "quiet icon", "aria-label": t("close"), on: { click: () => card.remove() } }, icon("close"));
    const card = h("div", { class: "job-card card" }, h("div", { class: "job-line" }, icon("upload"), text, remove), h("div", { class: "bar" }, fill), problems);
    this.element.append(card);
    const show = (fraction) => fill.style.setProperty("width", `${Math.round(fraction * 100)}%`);
    try {
      const id = await sendFiles(files, collection, show);
      show(0);
      const job = await followJob(id, (now) => {
        show(progress(now));
        text.textContent = summary(now);
      });
      this.#finished(card, job, problems);
    } catch (error) {
      const { title, detail } = explain(error);
      card.dataset.tone = "bad";
      text.textContent = `${title} ${detail}`;
    }
    this.onFinished();
  }

  #finished(card, job, problems) {
    const failed = job.items.filter((item) => item.state === "failed");
    problems.replaceChildren(...failed.map((item) => h("li", {}, h("b", {}, item.title), " ", item.reason)));
    card.dataset.tone = failed.length ? "bad" : "good";
    if (!failed.length) setTimeout(() => card.remove(), KEPT_MS);
  }
}

/** A job in a line. */
export function summary(job) {
  const { total, done, unchanged, failed, cancelled } = job.files;
  const parts = [t("job.files", { ready: done + unchanged, total })];
  if (unchanged) parts.push(t("job.count.unchanged", { n: unchanged }));
  if (failed) parts.push(t("job.count.failed", { n: failed }));
  if (cancelled) parts.push(t("job.count.cancelled", { n: cancelled }));
  return `${t(`job.state.${job.state}`)} · ${parts.join(" · ")}`;
}

/** Let files and folders be dropped on `element`; `onFiles(files)` gets them, folders walked, with their paths. */
export function acceptDrops(element, onFiles) {
  let depth = 0;
  const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
  const over = (on) => element.classList.toggle("dropping", on);
  element.addEventListener("dragenter", (event) => {
    if (holdsFiles(event)) over(++depth > 0);
  });
  element.addEventListener("dragleave", (event) => {
    if (holdsFiles(event)) over(--depth > 0);
  });
  element.addEventListener("dragover", (event) => holdsFiles(event) && event.preventDefault());
  element.addEventListener("drop", async (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    depth = 0;
    over(false);
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    onFiles(entries.length ? (await Promise.all(entries.map(walk))).flat() : [...event.dataTransfer.files]);
  });
}

async function walk(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    file.path = entry.fullPath.replace(/^\//, "");
    return [file];
  }
  const reader = entry.createReader();
  const children = [];
  for (;;) {
    const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!batch.length) break;
    children.push(...batch);
  }
  return (await Promise.all(children.map(walk))).flat();
}
