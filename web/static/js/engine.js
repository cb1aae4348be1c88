/** Whether the language model can answer, asked of the status endpoint: often while it loads, seldom once it is ready. */

const LOADING_MS = 2000;
const READY_MS = 20_000;

const listeners = new Set();
let latest = null;
let timer = null;

/** The latest state: `{state: "ready"|"starting"|"failed"|"offline", model, detail}`; null before the first reply. */
export const engineState = () => latest;

/** Call `listener` with every reply, until the returned function is called. Watching starts with the first listener and rests while the page is hidden. */
export function watchEngine(listener) {
  listeners.add(listener);
  if (latest) listener(latest);
  if (timer === null) poll();
  return () => listeners.delete(listener);
}

/** Ask again now, as after an answer failed. */
export function refreshEngine() {
  clearTimeout(timer);
  return poll();
}

async function poll() {
  timer = 0;
  if (!document.hidden) {
    latest = await ask();
    for (const listener of listeners) listener(latest);
  }
  timer = setTimeout(poll, latest?.state === "ready" ? READY_MS : LOADING_MS);
}

async function ask() {
  try {
    const { ready, engine } = await (await fetch("/api/v1/status", { headers: { Accept: "application/json" } })).json();
    const state = engine.ready && !ready ? "starting" : engine.state;
    return { state, model: shortName(engine.model), detail: engine.detail };
  } catch {
    return { state: "offline", model: "", detail: "" };
  }
}

const shortName = (model) => model.split("/").filter(Boolean).at(-1) ?? "";

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) refreshEngine();
});
