/** The interface's texts in the language that the server chose for this page. */

export const language = document.documentElement.dataset.lang;

const response = await fetch(`/static/i18n/${language}.json`);
const texts = await response.json();

/** A text by its key, `{name}` places filled from `values`. A missing key shows itself. */
export function t(key, values = {}) {
  const text = texts[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

/** Whether a text exists. */
export const has = (key) => key in texts;

/** A count with its unit, `key.one` or `key.many`. */
export function count(key, n) {
  return t(`${key}.${n === 1 ? "one" : "many"}`, { n: number(n) });
}

const locale = language === "zh" ? "zh-CN" : "en-GB";
const plain = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });

/** A number for people. */
export const number = (value) => plain.format(value);

/** A size in bytes for people, in units of 1024. */
export function bytes(size) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let step = 0;
  while (size >= 1024 && step < units.length - 1) {
    size /= 1024;
    step += 1;
  }
  return `${new Intl.NumberFormat(locale, { maximumFractionDigits: step && size < 10 ? 1 : 0 }).format(size)} ${units[step]}`;
}

/** Milliseconds for people. */
export function duration(ms) {
  if (ms < 1) return t("unit.ms", { n: ms.toFixed(2) });
  if (ms < 1000) return t("unit.ms", { n: ms < 10 ? ms.toFixed(1) : Math.round(ms) });
  if (ms < 90_000) return t("unit.s", { n: (ms / 1000).toFixed(ms < 10_000 ? 2 : 1) });
  return t("unit.min", { n: Math.round(ms / 60_000) });
}

/** A time that is yet to pass, roughly. */
export function wait(seconds) {
  return seconds < 90 ? t("unit.s", { n: Math.ceil(seconds) }) : t("unit.min", { n: Math.round(seconds / 60) });
}

/** A date and time for people. */
export function moment(iso) {
  return new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" }).format(new Date(iso));
}

/** How long ago, roughly. */
export function ago(iso) {
  const seconds = (new Date(iso).getTime() - Date.now()) / 1000;
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
  for (const [unit, length] of [["day", 86_400], ["hour", 3600], ["minute", 60]]) {
    if (Math.abs(seconds) >= length) return relative.format(Math.round(seconds / length), unit);
  }
  return relative.format(0, "minute");
}
