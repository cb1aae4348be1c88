/** The jobs of a collection, newest first; those at work are followed until they end. */

import { call, explain, query } from "../api.js";
import { h, icon } from "../dom.js";
import { count, t } from "../i18n.js";
import { toast } from "../toast.js";
import { FINISHED, followJob, progress } from "../uploads.js";
import { JobCard } from "./jobcard.js";

const SHOWN = 4;

/** `onFinished()` is called whenever a followed job ends. */
export class Jobs {
  constructor(section, element, more, onFinished) {
    this.section = section;
    this.element = element;
    this.more = more;
    this.onFinished = onFinished;
    this.cards = new Map();
    more.addEventListener("click", () => this.#older());
  }

  /** Show a collection's latest jobs. */
  async show(collection) {
    this.collection = collection;
    this.cards.clear();
    this.element.replaceChildren();
    this.cursor = "";
    this.section.hidden = true;
    await this.#older();
  }

  /** A card for files that are being sent; call `progress(fraction)` and `remove()`. */
  sending(files) {
    const fill = h("i");
    const card = h("div", { class: "job card" }, h("div", { class: "job-line" }, icon("upload"), h("span", {}, t("upload.sending", { files: count("files", files) }))), h("div", { class: "bar" }, fill));
    this.section.hidden = false;
    this.element.prepend(card);
    return { progress: (fraction) => fill.style.setProperty("width", `${Math.round(fraction * 100)}%`), remove: () => card.remove() };
  }

  /** Follow a job, new or known, until it ends. */
  async follow(id) {
    try {
      const last = await followJob(id, (job) => this.#card(job, "prepend").show(job, progress(job)));
      if (last) this.onFinished();
    } catch (error) {
      toast(explain(error).title, "bad");
    }
  }

  async #older() {
    const { collection } = this;
    try {
      const page = await call(`/api/v1/jobs${query({ collection, limit: SHOWN, cursor: this.cursor })}`);
      if (collection !== this.collection) return;
      for (const job of page.items) {
        this.#card(job, "append").show(job, progress(job));
        if (!FINISHED.has(job.state)) this.follow(job.id);
      }
      this.cursor = page.next_cursor ?? "";
      this.more.hidden = !this.cursor;
    } catch (error) {
      this.more.hidden = true;
      if (error.code !== "not_found") toast(explain(error).title, "bad");
    }
  }

  #card(job, side) {
    let card = this.cards.get(job.id);
    if (!card) {
      card = new JobCard((verb) => this.#tell(job.id, verb));
      this.cards.set(job.id, card);
      this.element[side](card.element);
      this.section.hidden = false;
    }
    return card;
  }

  async #tell(id, verb) {
    try {
      await call(`/api/v1/jobs/${id}/${verb}`, { method: "POST" });
      this.follow(id);
    } catch (error) {
      const { title, detail } = explain(error);
      toast(`${title} ${detail}`, "bad");
    }
  }
}
