/** One question and its answer, from the moment it is asked: searching, reading, streaming, done, stopped or failed. */

import { ApiError, call, explain } from "../api.js";
import { h, icon } from "../dom.js";
import { engineState, refreshEngine, watchEngine } from "../engine.js";
import { count, duration, t } from "../i18n.js";
import { events } from "../sse.js";
import { actions } from "./actions.js";
import { passageList, sourceList } from "./passages.js";
import { Prose } from "./prose.js";

/** Owns its element and, while it runs, its request. */
export class Turn {
  constructor(question, { source, announce, onRetry }) {
    this.source = source;
    this.announce = announce;
    this.onRetry = onRetry;
    this.status = h("p", { class: "turn-status muted" });
    this.reply = h("div", { class: "reply" });
    this.after = h("div", { class: "after" });
    this.element = h("li", { class: "turn" }, h("h2", { class: "question" }, question), this.status, this.reply, this.after);
    this.question = question;
    this.prose = new Prose((n, button) => this.#openCitation(n, button));
    this.passages = [];
    this.citations = [];
    this.thinking = null;
    this.said = 0;
  }

  /** Ask; resolves to the answer, or null where there is none. Never rejects. */
  async run(request) {
    this.abort = new AbortController();
    this.request = request;
    this.#say("busy", t(request.mode === "agent" ? "turn.agent" : "turn.searching"));
    if (engineState() && engineState().state !== "ready") return this.#searchOnly();
    try {
      for await (const { name, data } of events("/api/v1/ask", request, this.abort.signal)) {
        if (name === "open") this.streamId = data.stream;
        else if (name === "passages") this.#read(data);
        else if (name === "thinking") this.#think(data.text);
        else if (name === "token") this.#write(data.text);
        else if (name === "sentence") this.#check(data);
        else if (name === "done") return this.finish(data);
        else if (name === "error") return this.#fail(explain(new ApiError(data, data.status)));
      }
      return this.#fail({ title: t("problem.cut"), detail: "" });
    } catch (error) {
      if (this.abort.signal.aborted) return this.#stopped();
      const problem = explain(error);
      if (problem.code === "engine_not_ready") return this.#searchOnly();
      return this.#fail(problem);
    }
  }

  /** Stop the answer; what was written stays. */
  stop() {
    if (!this.abort || this.abort.signal.aborted) return;
    this.abort.abort();
    if (this.streamId) call(`/api/v1/ask/${this.streamId}`, { method: "DELETE" }).catch(() => {});
  }

  /** Show the finished answer. `quietly`: it is history, so nothing is announced. */
  finish(answer, { quietly = false } = {}) {
    this.answer = answer;
    this.citations = answer.citations;
    this.passages = answer.passages ?? [];
    this.#say("", "");
    this.prose.show(answer.answer, { citations: answer.citations, sentences: answer.sentences, final: true });
    this.reply.replaceChildren(...(answer.thinking ? [this.#thinkingBox(answer.thinking)] : []), answer.refused ? this.#refusal() : this.prose.element);
    const shown = answer.refused
      ? passageList(this.passages, this.source, this.question)
      : sourceList(answer, (citation, button) => this.#openCitation(citation.n, button));
    this.after.replaceChildren(shown ?? "", actions(answer, { onRetry: this.onRetry }));
    if (!quietly) this.#announceRest(answer);
    return answer;
  }

  #read({ passages }) {
    this.passages = passages;
    this.#say("busy", passages.length ? t("turn.reading", { passages: count("passages", passages.length) }) : t("turn.nothing"));
    const chips = passages.map((passage) =>
      h("button", { type: "button", class: "chip link", title: passage.heading_path.join(" › "), on: { click: (e) => this.source.open(passage, e.currentTarget) } },
        h("b", {}, passage.n), passage.title));
    this.after.replaceChildren(h("div", { class: "reading" }, chips));
  }

  #think(text) {
    if (!this.thinking) {
      this.thinking = this.#thinkingBox("");
      this.thinking.open = true;
      this.reply.append(this.thinking);
    }
    this.thinking.lastChild.textContent += text;
  }

  #thinkingBox(text) {
    return h("details", { class: "thinking" }, h("summary", {}, t("turn.thinking")), h("p", {}, text));
  }

  #write(text) {
    if (!this.prose.element.isConnected) {
      this.reply.append(this.prose.element);
      this.#say("busy", t("turn.writing"));
    }
    this.prose.append(text, this.passages);
  }

  #check(sentence) {
    this.prose.checked(sentence);
    this.said += 1;
    this.announce(spoken(sentence));
  }

  #announceRest(answer) {
    for (const sentence of answer.sentences.slice(this.said)) this.announce(spoken(sentence));
    this.announce(t("turn.done", { time: duration(answer.timing.total_ms) }));
  }

  #refusal() {
    return h("div", { class: "refusal" }, icon("search"), h("div", {}, h("h3", {}, t("refusal.title")), this.prose.element));
  }

  #stopped() {
    this.#say("", "");
    this.prose.flush();
    this.after.replaceChildren(h("p", { class: "stopped muted" }, icon("stop"), t("turn.stopped"),
      h("button", { type: "button", class: "quiet", on: { click: this.onRetry } }, icon("retry"), t("again"))));
    this.announce(t("turn.stopped"));
    return null;
  }

  #fail({ title, detail, requestId }) {
    this.#say("", "");
    this.prose.flush();
    this.after.replaceChildren(h("div", { class: "failure", role: "alert" }, icon("warn"),
      h("div", {}, h("h3", {}, title), detail && h("p", {}, detail), requestId && h("p", { class: "small muted" }, t("problem.id", { id: requestId })),
        h("button", { type: "button", on: { click: this.onRetry } }, icon("retry"), t("again")))));
    refreshEngine();
    return null;
  }

  /** While the model loads: show what a search finds, and ask by itself once the model is ready. */
  async #searchOnly() {
    this.#say("busy", t("turn.waiting"));
    const { question, collection, filters } = this.request;
    try {
      const found = await call("/api/v1/search", { method: "POST", json: { query: question, collection, filters, top_k: 5 }, signal: this.abort.signal });
      const passages = found.passages.map((passage) => ({ ...passage, n: passage.rank, page: passage.page_start }));
      this.after.replaceChildren(passageList(passages, this.source, question, t("turn.found")) ?? "");
      await this.#engineReady();
    } catch (error) {
      return this.abort.signal.aborted ? this.#stopped() : this.#fail(explain(error));
    }
    this.after.replaceChildren();
    return this.run(this.request);
  }

  #engineReady() {
    let rest = () => {};
    const ready = new Promise((resolve, reject) => {
      this.abort.signal.addEventListener("abort", () => reject(this.abort.signal.reason));
      rest = watchEngine((engine) => engine.state === "ready" && resolve());
    });
    return ready.finally(() => rest());
  }

  #openCitation(n, button) {
    const target = this.citations.find((citation) => citation.n === n) ?? this.passages.find((passage) => passage.n === n);
    if (target) this.source.open(target, button, this.citations);
  }

  #say(state, text) {
    this.status.dataset.state = state;
    this.status.textContent = text;
  }
}

const spoken = (sentence) => sentence.text + (sentence.supported ? "" : ` (${t("verdict.unsupported")})`);
