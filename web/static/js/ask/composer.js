/** The question box with its collection, filters and settings. */

import { byId, h } from "../dom.js";
import { count, t } from "../i18n.js";

const MEDIA_TYPES = {
  PDF: ["application/pdf"],
  Word: ["application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
  HTML: ["text/html"],
  Markdown: ["text/markdown"],
};

/** Reads the reader's question and settings; calls `onAsk(question)` and `onStop()`. */
export class Composer {
  constructor({ onAsk, onStop }) {
    this.box = byId("question");
    this.picker = byId("collection");
    this.menu = byId("options-menu");
    this.fields = this.#buildOptions();
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      const question = this.box.value.trim();
      if (!question) return this.box.focus();
      this.box.value = "";
      this.#grow();
      this.closeOptions();
      onAsk(question);
    });
    this.box.addEventListener("input", () => this.#grow());
    this.box.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        byId("composer").requestSubmit();
      }
    });
    byId("stop").addEventListener("click", onStop);
    byId("options").addEventListener("click", () => this.#toggleOptions());
    document.addEventListener("pointerdown", (event) => {
      if (!this.menu.hidden && !event.target.closest("#options-menu, #options")) this.closeOptions();
    });
  }

  /** The request body, without the question. */
  request() {
    const { passages, temperature, tokens, thinking, agent, probabilities, type, lang, tag, after } = this.fields;
    const filters = {};
    if (type.value) filters.media_types = MEDIA_TYPES[type.value];
    if (lang.value) filters.languages = [lang.value];
    if (tag.value.trim()) filters.tags = tag.value.split(/[,，]/).map((each) => each.trim()).filter(Boolean);
    if (after.value) filters.modified_after = `${after.value}T00:00:00Z`;
    const sampling = { temperature: Number(temperature.value) };
    if (tokens.value) sampling.max_tokens = Number(tokens.value);
    return {
      collection: this.collectionName(),
      filters,
      sampling,
      top_k: passages.value ? Number(passages.value) : undefined,
      thinking: thinking.checked ? "show" : "hide",
      mode: agent.checked ? "agent" : "answer",
      logprobs: probabilities.checked,
      stream: true,
    };
  }

  /** Show the stop button instead of the send button. */
  busy(on) {
    byId("send").hidden = on;
    byId("stop").hidden = !on;
  }

  /** Put a question into the box. */
  write(question) {
    this.box.value = question;
    this.#grow();
    this.focus();
  }

  focus() {
    this.box.focus();
  }

  collectionName() {
    return this.picker.value || "default";
  }

  /** Choose a collection. */
  collection(name) {
    this.picker.value = name;
  }

  /** Fill the list of collections, keeping the choice. */
  collections(items) {
    const chosen = this.collectionName();
    const all = items.some((item) => item.name === "default") ? items : [{ name: "default", documents: 0 }, ...items];
    this.picker.replaceChildren(
      ...all.map((item) => h("option", { value: item.name }, `${item.name} · ${count("documents", item.documents)}`)),
    );
    this.picker.value = all.some((item) => item.name === chosen) ? chosen : "default";
  }

  /** Hide the settings; true if they were open. */
  closeOptions() {
    if (this.menu.hidden) return false;
    this.menu.hidden = true;
    byId("options").setAttribute("aria-expanded", "false");
    return true;
  }

  #toggleOptions() {
    if (this.closeOptions()) return;
    this.menu.hidden = false;
    byId("options").setAttribute("aria-expanded", "true");
    this.menu.querySelector("select, input").focus();
  }

  #grow() {
    this.box.style.height = "auto";
    this.box.style.height = `${Math.min(this.box.scrollHeight, innerHeight * 0.4)}px`;
  }

  #buildOptions() {
    const select = (values, label) => h("select", {}, h("option", { value: "" }, label), values.map(([value, text]) => h("option", { value }, text)));
    const fields = {
      type: select(Object.keys(MEDIA_TYPES).map((name) => [name, name]), t("filter.any")),
      lang: select([["en", "English"], ["zh", "中文"]], t("filter.any")),
      tag: h("input", { type: "text", autocomplete: "off" }),
      after: h("input", { type: "date" }),
      passages: h("input", { type: "number", min: 1, max: 50, placeholder: t("options.default") }),
      temperature: h("input", { type: "number", min: 0, max: 2, step: 0.1, value: "0" }),
      tokens: h("input", { type: "number", min: 1, max: 8192, placeholder: t("options.default") }),
      agent: h("input", { type: "checkbox" }),
      thinking: h("input", { type: "checkbox" }),
      probabilities: h("input", { type: "checkbox", checked: true }),
    };
    const row = (name, hint) => h("label", { class: "field" }, h("span", {}, t(name), hint && h("small", { class: "muted" }, t(hint))), null);
    const place = (label, field) => {
      label.append(field);
      return label;
    };
    this.menu.append(
      h("h3", {}, t("filter.title")),
      place(row("filter.type"), fields.type), place(row("filter.language"), fields.lang),
      place(row("filter.tags"), fields.tag), place(row("filter.after"), fields.after),
      h("h3", {}, t("options.answer")),
      place(row("options.passages"), fields.passages), place(row("options.temperature", "options.temperature.hint"), fields.temperature),
      place(row("options.tokens"), fields.tokens), place(row("options.agent", "options.agent.hint"), fields.agent), place(row("options.thinking"), fields.thinking),
      place(row("options.probabilities", "options.probabilities.hint"), fields.probabilities),
    );
    return fields;
  }
}
