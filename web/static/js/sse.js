/** Server-sent events over `fetch`, because a question is a POST; goes on by `Last-Event-ID` after a broken connection. */

import { ApiError, send } from "./api.js";

const TRIES = 4;
const PAUSE_MS = 800;
// The server says something at least every 10 seconds. A connection that is silent for longer may be dead without the
// browser knowing, as after a change of network.
const SILENCE_MS = 25_000;

/** Yields `{name: "open", data: {stream}}`, then `{name, data}` until the stream ends. Throws `ApiError` for a refused request, `AbortError` when stopped. */
export async function* events(path, json, signal) {
  let last = "";
  for (let failures = 0; ; ) {
    const headers = { Accept: "text/event-stream", ...(last && { "Last-Event-ID": last }) };
    try {
      const attempt = new AbortController();
      const response = await send(path, { method: "POST", json, headers, signal: AbortSignal.any([signal, attempt.signal]) });
      yield { name: "open", data: { stream: response.headers.get("Folio-Stream") ?? "" } };
      for await (const event of frames(response.body, attempt)) {
        if (event.id) last = event.id;
        failures = 0;
        yield { name: event.name, data: JSON.parse(event.data) };
        if (event.name === "done" || event.name === "error") return;
      }
      if (!last) return;
      throw new TypeError("The stream ended early");
    } catch (error) {
      const broken = error instanceof TypeError && last && failures < TRIES;
      if (error instanceof ApiError || signal.aborted || !broken) throw error;
      failures += 1;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * failures));
    }
  }
}

async function* frames(body, attempt) {
  let rest = "";
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { value, done } = await heard(reader.read(), attempt);
      if (done) return;
      rest += value;
      const parts = rest.split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        const event = parse(part);
        if (event) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** What is read, unless it takes so long that the connection counts as dead. */
async function heard(reading, attempt) {
  let timer;
  const silence = new Promise((_, reject) => {
    timer = setTimeout(() => {
      reject(new TypeError("The stream fell silent"));
      attempt.abort();
    }, SILENCE_MS);
  });
  try {
    return await Promise.race([reading, silence]);
  } finally {
    clearTimeout(timer);
  }
}

function parse(block) {
  const event = { id: "", name: "message", data: [] };
  for (const line of block.split("\n")) {
    const [field, ...value] = line.split(":");
    const text = value.join(":").replace(/^ /, "");
    if (field === "id") event.id = text;
    else if (field === "event") event.name = text;
    else if (field === "data") event.data.push(text);
  }
  return event.data.length ? { ...event, data: event.data.join("\n") } : null;
}
