/** The page of one answer: the answer itself, and how it was made. */

import { call, explain } from "../api.js";
import { byId, h } from "../dom.js";
import { t } from "../i18n.js";
import { SourcePanel } from "../ask/source.js";
import { Turn } from "../ask/turn.js";

const id = decodeURIComponent(location.pathname.split("/").at(-1));
const source = new SourcePanel(byId("source"));
const again = (question) => location.assign(`/?q=${encodeURIComponent(question)}`);

document.addEventListener("keydown", (event) => event.key === "Escape" && source.close());

try {
  const { answer } = await call(`/api/v1/answers/${encodeURIComponent(id)}`);
  const turn = new Turn(answer.question, { source, announce: () => {}, onRetry: () => again(answer.question) });
  turn.finish(answer, { quietly: true });
  byId("turns").append(turn.element);
  turn.element.querySelector(".making-button").click();
} catch (error) {
  const { title, detail } = explain(error);
  byId("turns").append(h("li", { class: "turn" }, h("h1", {}, t("making.missing")), h("p", {}, `${title} ${detail}`)));
}
