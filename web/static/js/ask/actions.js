/** The row under an answer: how it was made, copy with sources, thumbs with a word, and its time. */

import { call, explain } from "../api.js";
import { h, icon } from "../dom.js";
import { duration, number, t } from "../i18n.js";
import { toast } from "../toast.js";

/** The actions of a finished answer. */
export function actions(answer, { onRetry }) {
  const panel = h("div", { class: "making-place", hidden: true });
  const note = h("form", { class: "feedback-note", hidden: true });
  const bar = h("div", { class: "actions" },
    makingButton(answer, panel),
    h("button", { type: "button", class: "quiet", on: { click: () => copy(answer) } }, icon("copy"), t("copy")),
    ...thumbs(answer, note),
    h("button", { type: "button", class: "quiet icon", title: t("again"), "aria-label": t("again"), on: { click: onRetry } }, icon("retry")),
    h("span", { class: "figures small muted num", title: answer.model }, figures(answer)));
  return h("div", { class: "answer-foot" }, bar, note, panel);
}

function figures({ timing, usage }) {
  return t("answer.figures", { ttft: duration(timing.ttft_ms), total: duration(timing.total_ms), tokens: number(usage.completion_tokens) });
}

function makingButton(answer, panel) {
  const button = h("button", { type: "button", class: "quiet making-button", "aria-expanded": "false" }, icon("flow"), t("making.title"));
  button.addEventListener("click", async () => {
    panel.hidden = !panel.hidden;
    button.setAttribute("aria-expanded", String(!panel.hidden));
    if (panel.hidden || panel.childElementCount) return;
    try {
      const { showMaking } = await import("../making/panel.js");
      await showMaking(panel, answer.answer_id);
    } catch (error) {
      const { title, detail } = explain(error);
      panel.replaceChildren(h("p", { class: "failure" }, `${title} ${detail}`));
    }
  });
  return button;
}

/** The answer with its sources as plain text. */
export function withSources({ answer, citations }) {
  if (!citations.length) return answer;
  const lines = citations.map(({ n, title, page, uri, quote }) =>
    `[${n}] ${title}${page ? `, ${t("page", { n: page })}` : ""} (${uri})\n    “${quote.replace(/\s+/g, " ").trim()}”`);
  return `${answer}\n\n${t("sources.title")}\n${lines.join("\n")}\n`;
}

async function copy(answer) {
  try {
    await navigator.clipboard.writeText(withSources(answer));
    toast(t("copied"));
  } catch {
    toast(t("copy.failed"), "bad");
  }
}

function thumbs(answer, note) {
  const buttons = [1, -1].map((rating) => {
    const name = t(rating > 0 ? "thumbs.up" : "thumbs.down");
    return h("button", { type: "button", class: "quiet icon", title: name, "aria-label": name, "aria-pressed": "false",
      on: { click: () => rate(rating) } }, icon(rating > 0 ? "up" : "down"));
  });
  const box = h("input", { type: "text", maxLength: 2000, autocomplete: "off" });
  note.append(h("label", {}, h("span", {}, t("feedback.word")), box), h("button", { type: "submit" }, t("feedback.send")));

  let given = 0;
  async function rate(rating) {
    given = rating;
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String((i === 0) === rating > 0)));
    note.hidden = false;
    if (await save("")) box.focus();
  }
  async function save(comment) {
    try {
      await call(`/api/v1/answers/${answer.answer_id}/feedback`, { method: "PUT", json: { rating: given, comment } });
      return true;
    } catch (error) {
      toast(explain(error).title, "bad");
      return false;
    }
  }
  note.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!(await save(box.value.trim()))) return;
    note.hidden = true;
    toast(t("feedback.thanks"));
  });
  return buttons;
}
