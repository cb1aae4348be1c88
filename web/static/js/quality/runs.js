/** The runs of one evaluation set: the latest figures large, each with its course over the runs, and a table below. */

import { h, s } from "../dom.js";
import { duration, moment, number, t } from "../i18n.js";

const WIDTH = 132;
const HEIGHT = 36;

/** A card of the runs of one kind on one dataset, newest first or last. */
export function runGroup(runs) {
  const ordered = [...runs].sort((a, b) => a.created_at.localeCompare(b.created_at));
  const latest = ordered.at(-1);
  const names = [...new Set(ordered.flatMap((run) => Object.keys(flat(run.figures))))].filter((name) => name !== "n");
  const shares = names.filter((name) => !/ms/.test(name));
  return h("article", { class: "run card" },
    h("header", {}, h("h3", {}, latest.dataset), h("span", { class: "chip" }, t(`quality.${latest.kind}`)),
      h("span", { class: "small muted" }, `${t("quality.latest")} ${moment(latest.created_at)} · ${t("quality.n")} ${number(flat(latest.figures).n ?? 0)}`)),
    h("ul", { class: "figures" }, names.map((name) => figure(name, ordered))),
    shares.length > 0 && h("details", {}, h("summary", { class: "small" }, t("quality.runs")), table(names, ordered)));
}

/** `{latency_ms: {p50: 1}}` as `{"latency_ms p50": 1}`; only numbers. */
function flat(figures) {
  const found = {};
  for (const [name, value] of Object.entries(figures)) {
    if (typeof value === "number") found[name] = value;
    else if (value && typeof value === "object") for (const [part, v] of Object.entries(value)) if (typeof v === "number") found[`${name} ${part}`] = v;
  }
  return found;
}

function show(name, value) {
  if (value === undefined) return "–";
  return /ms/.test(name) ? duration(value) : value <= 1 ? value.toFixed(3) : number(value);
}

const label = (name) => name.replace(/_ms\b/, "").replaceAll("_", " ");

function figure(name, runs) {
  const values = runs.map((run) => flat(run.figures)[name]).filter((value) => value !== undefined);
  return h("li", {}, h("span", { class: "small muted" }, label(name)), h("b", { class: "num" }, show(name, values.at(-1))), plot(name, values));
}

/** The course of a figure: a line from the first run to the latest, which is the dot. */
function plot(name, values) {
  if (values.length < 2) return "";
  const [low, top] = [Math.min(...values), Math.max(...values)];
  const x = (i) => 4 + (i / (values.length - 1)) * (WIDTH - 8);
  const y = (value) => HEIGHT - 4 - (top > low ? (value - low) / (top - low) : 0.5) * (HEIGHT - 8);
  const points = values.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`);
  const [cx, cy] = points.at(-1).split(",");
  return s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "plot", role: "img", "aria-label": t("quality.history", { name: label(name), n: values.length }) },
    s("polyline", { points: points.join(" ") }), s("circle", { cx, cy, r: 3 }));
}

function table(names, runs) {
  return h("div", { class: "table-scroll", tabIndex: 0, role: "region", "aria-label": t("quality.runs") },
    h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("quality.when")), names.map((name) => h("th", { scope: "col" }, label(name))))),
      h("tbody", {}, [...runs].reverse().map((run) =>
        h("tr", {}, h("td", {}, moment(run.created_at)), names.map((name) => h("td", { class: "num" }, show(name, flat(run.figures)[name]))))))));
}
