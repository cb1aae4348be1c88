/** One job: its progress in true figures, its files, and why some failed. */

import { h, icon } from "../dom.js";
import { ago, bytes, count, has, language, number, t, wait } from "../i18n.js";
import { summary } from "../uploads.js";

const LISTED = 200;
const ORDER = { failed: 0, running: 1, queued: 2, cancelled: 3, done: 4, unchanged: 5 };

/** `tell(verb)` cancels or retries the job. */
export class JobCard {
  constructor(tell) {
    this.line = h("span", { class: "job-text" });
    this.figures = h("span", { class: "small muted num" });
    this.fill = h("i");
    this.bar = h("div", { class: "bar", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100, "aria-label": t("jobs.progress") }, this.fill);
    this.cancel = h("button", { type: "button", class: "quiet", on: { click: () => tell("cancel") } }, t("cancel"));
    this.retry = h("button", { type: "button", class: "quiet", on: { click: () => tell("retry") } }, icon("retry"), t("job.retry"));
    this.failures = h("ul", { class: "job-problems" });
    this.files = h("ul", { class: "job-files" });
    this.all = h("details", {}, h("summary", { class: "small" }, t("job.all")), this.files);
    this.element = h("article", { class: "job card" },
      h("div", { class: "job-line" }, this.line, this.figures, this.cancel, this.retry), this.bar, this.failures, this.all);
  }

  /** Draw a job's present state; `fraction` is the share done. */
  show(job, fraction) {
    const running = job.state === "queued" || job.state === "running";
    const failed = job.items.filter((item) => item.state === "failed");
    this.element.dataset.state = failed.length && !running ? "failed" : job.state;
    this.line.textContent = `${summary(job)}${source(job)}`;
    this.figures.textContent = running ? rate(job) : ago(job.finished_at ?? job.created_at);
    const percent = Math.round(fraction * 100);
    this.fill.style.setProperty("width", `${percent}%`);
    this.bar.setAttribute("aria-valuenow", percent);
    this.bar.hidden = !running;
    this.cancel.hidden = !running;
    this.retry.hidden = running || !(failed.length || job.files.cancelled);
    this.failures.replaceChildren(...failed.slice(0, LISTED).map((item) => h("li", {}, h("b", {}, item.title || item.uri), h("span", {}, reason(item)))));
    const rest = [...job.items].sort((a, b) => ORDER[a.state] - ORDER[b.state]).slice(0, LISTED);
    this.files.replaceChildren(...rest.map(fileRow));
    this.all.hidden = !job.items.length;
  }
}

/** Where its files come from, if that is worth saying. */
function source(job) {
  const said = { "": "", upload: "", text: "", disk: t("job.disk") }[job.source] ?? job.source;
  return said && ` · ${said}`;
}

function fileRow(item) {
  const working = item.state === "running";
  const stage = working && item.stage ? t(`stage.${item.stage}`) : t(`item.${item.state}`);
  const chunks = working && item.chunks_total ? ` ${item.chunks_done}/${item.chunks_total}` : "";
  return h("li", {}, h("span", { class: "file-name" }, item.title || item.uri), h("span", { class: "small muted num" }, bytes(item.size_bytes)),
    h("span", { class: `small item-state ${item.state}` }, stage + chunks));
}

/** The server's words say most, but in English; another language gets the general meaning of the code first. */
function reason(item) {
  const general = `reason.${item.reason_code}`;
  if (language === "en" && item.reason) return item.reason;
  return has(general) ? t(general) : item.reason;
}

function rate(job) {
  const parts = [];
  if (job.rate_chunks_per_s) parts.push(t("job.rate", { rate: number(job.rate_chunks_per_s) }));
  if (job.eta_s) parts.push(t("job.eta", { time: wait(job.eta_s) }));
  if (!parts.length && job.chunks_total) parts.push(count("chunks", job.chunks_total));
  return parts.join(" · ");
}
