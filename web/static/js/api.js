/** The REST interface from the page: JSON in, JSON out, and problems as errors that carry words for the reader. */

import { signIn } from "./signin.js";
import { has, t } from "./i18n.js";

const LONGEST_PAGE = 200;

/** A reply that was not a success. `message` is for the reader; `code` is the API's stable code. */
export class ApiError extends Error {
  constructor(problem, status) {
    super(problem.detail || problem.title || t("error.unknown"));
    this.code = problem.code ?? "unknown";
    this.status = status;
    this.retryAfter = problem.retry_after_s ?? null;
    this.requestId = problem.request_id ?? "";
  }
}

/** Plain words for any failure, in the reader's language where the code is known, with the server's own detail. */
export function explain(error) {
  if (error instanceof ApiError) {
    const known = has(`problem.${error.code}`) ? t(`problem.${error.code}`) : t("problem.other");
    return { title: known, detail: error.message, requestId: error.requestId, code: error.code };
  }
  if (error instanceof TypeError) return { title: t("problem.offline"), detail: "", requestId: "", code: "offline" };
  return { title: t("problem.other"), detail: error.message, requestId: "", code: "unknown" };
}

/** The response to a request, once; signs in and tries again where a key is needed. Throws `ApiError`. */
export async function send(path, { method = "GET", json, body, headers = {}, signal } = {}) {
  const request = { method, headers: { Accept: "application/json", ...headers }, signal, body };
  if (json !== undefined) {
    request.body = JSON.stringify(json);
    request.headers["Content-Type"] = "application/json";
  }
  for (;;) {
    const response = await fetch(path, request);
    if (response.ok) return response;
    if (response.status === 401 && (await signIn())) continue;
    throw new ApiError(await problemOf(response), response.status);
  }
}

/** The JSON of a reply; null where it has none. */
export async function call(path, options) {
  const response = await send(path, options);
  return response.status === 204 ? null : response.json();
}

/** All items of a list that comes page by page. */
export async function all(path) {
  const items = [];
  let cursor = "";
  do {
    const page = await call(`${path}${query({ limit: LONGEST_PAGE, cursor })}`);
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor);
  return items;
}

async function problemOf(response) {
  try {
    return await response.json();
  } catch {
    return { title: response.statusText, code: "unknown" };
  }
}

/** A query string; empty values are left out. */
export function query(values) {
  const entries = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return entries.length ? `?${new URLSearchParams(entries)}` : "";
}
