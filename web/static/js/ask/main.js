/** The ask page: questions go to the API, answers stream into turns, and citations open the source beside them. */

import { all, call } from "../api.js";
import { byId, h, scrollBehaviour } from "../dom.js";
import { count, t } from "../i18n.js";
import { acceptDrops, JobTray } from "../uploads.js";
import { Composer } from "./composer.js";
import { History } from "./history.js";
import { SourcePanel } from "./source.js";
import { Turn } from "./turn.js";

const turnsList = byId("turns");
const source = new SourcePanel(byId("source"));
const composer = new Composer({ onAsk: ask, onStop: () => running?.stop() });
const tray = new JobTray(byId("jobs"), refreshCollections);
const history = new History(byId("history"), byId("show-history"), { onOpen: openConversation, onDeleted: forget });

let conversationId = null;
let running = null;

/** Ask a question, as a follow-up where a conversation is open. */
async function ask(question) {
  running?.stop();
  const turn = new Turn(question, { source, announce, onRetry: () => ask(question), onFollowUp: (text) => ask(text) });
  show(turn);
  running = turn;
  composer.busy(true);
  const answer = await turn.run({ ...composer.request(), question, conversation_id: conversationId ?? undefined });
  if (running === turn) {
    running = null;
    composer.busy(false);
  }
  if (answer?.conversation_id) openedConversation(answer.conversation_id);
}

function show(turn) {
  byId("welcome").hidden = true;
  document.body.classList.add("asked");
  turnsList.append(turn.element);
  turn.element.scrollIntoView({ behavior: scrollBehaviour(), block: "start" });
}

function openedConversation(id) {
  conversationId = id;
  byId("new").hidden = false;
  window.history.replaceState(null, "", `/?c=${encodeURIComponent(id)}`);
  history.refresh(id);
}

/** Show an earlier conversation with all its answers. */
async function openConversation(id) {
  reset();
  const conversation = await call(`/api/v1/conversations/${encodeURIComponent(id)}`);
  composer.collection(conversation.collection);
  for (const answer of conversation.items) {
    const turn = new Turn(answer.question, { source, announce, onRetry: () => ask(answer.question), onFollowUp: ask });
    show(turn);
    turn.finish(answer, { quietly: true });
  }
  openedConversation(id);
}

function forget(id) {
  if (id === conversationId) reset();
}

/** Back to an empty page for a new conversation. */
function reset() {
  running?.stop();
  running = null;
  conversationId = null;
  turnsList.replaceChildren();
  source.close();
  byId("welcome").hidden = false;
  byId("new").hidden = true;
  document.body.classList.remove("asked");
  window.history.replaceState(null, "", "/");
  composer.busy(false);
  composer.focus();
}

/** Say something to screen readers, one sentence at a time. */
function announce(text) {
  byId("announcer").append(h("p", {}, text));
}

async function refreshCollections() {
  const items = await all("/api/v1/collections");
  composer.collections(items);
  const documents = items.find((item) => item.name === composer.collectionName())?.documents ?? 0;
  byId("welcome-text").textContent = documents ? t("ask.over", { documents: count("documents", documents) }) : t("ask.empty");
  document.body.classList.toggle("no-documents", !documents);
}

function upload(files) {
  tray.upload(files, composer.collectionName());
}

byId("new").addEventListener("click", reset);
byId("attach").addEventListener("click", () => byId("files").click());
byId("files").addEventListener("change", (event) => {
  upload([...event.target.files]);
  event.target.value = "";
});
byId("collection").addEventListener("change", refreshCollections);
acceptDrops(document.body, upload);

document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    composer.focus();
  } else if (event.key === "Escape") {
    if (composer.closeOptions()) return;
    if (source.isOpen) source.close();
    else running?.stop();
  }
});

await refreshCollections();
const address = new URLSearchParams(location.search);
if (address.has("c")) await openConversation(address.get("c"));
else if (address.has("q")) composer.write(address.get("q")); // written, not asked: a link must not start work by itself
