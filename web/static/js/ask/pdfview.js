/** A page of a PDF, drawn by pdf.js, with the cited words marked. Loaded only when a PDF citation is opened. */

import { call } from "../api.js";
import { h, icon } from "../dom.js";
import { t } from "../i18n.js";

const LIBRARY = "/static/vendor/pdfjs-5.6.205";
const MAX_WIDTH_PX = 1100;
const MIN_WIDTH_PX = 560; // below it, body text is too small to read; a phone scrolls sideways instead
const MARGIN_PX = 12;
let opened = { id: "", pdf: null };

/** Draw the page of `target` (`{document_id, page, start, end}`) to fit `room`. */
export async function drawPdf(target, room) {
  const pdf = await load(target.document_id);
  const number = { now: await pageOf(target, pdf.numPages) };
  const sheet = h("div", { class: "pdf-sheet" });
  const label = h("span", { class: "small num" });
  const turn = (name, by) => h("button", { type: "button", class: "quiet icon", "aria-label": t(`pdf.${name}`), title: t(`pdf.${name}`), on: { click: () => show(number.now + by) } }, icon(name));
  const buttons = [turn("prev", -1), turn("next", 1)];
  const bar = h("div", { class: "pdf-bar" }, buttons[0], label, buttons[1]);

  async function show(page) {
    number.now = page;
    label.textContent = t("pdf.page", { page, pages: pdf.numPages });
    buttons[0].disabled = page <= 1;
    buttons[1].disabled = page >= pdf.numPages;
    const marks = await boxes(target, page);
    sheet.replaceChildren(...(await drawPage(pdf, page, room.clientWidth - 32)), ...marks);
  }

  await show(number.now);
  if (!sheet.querySelector(".pdf-mark")) bar.append(h("p", { class: "pdf-note small muted" }, t("pdf.notfound")));
  const reveal = () => {
    const marks = [...sheet.querySelectorAll(".pdf-mark")];
    (marks[0] ?? sheet).scrollIntoView({ block: "center" });
    room.scrollLeft = Math.max(0, Math.min(...marks.map((mark) => mark.offsetLeft), sheet.offsetWidth) - MARGIN_PX);
  };
  return { element: [bar, sheet], reveal, page: number.now };
}

/** The page that holds the cited words: the one named, or the next where a passage runs over the edge. */
async function pageOf(target, pages) {
  const named = Math.min(Math.max(target.page ?? 1, 1), pages);
  for (const page of [named, named + 1]) if (page <= pages && (await boxes(target, page)).length) return page;
  return named;
}

async function load(id) {
  if (opened.id === id) return opened.pdf;
  const library = await import(`${LIBRARY}/pdf.min.mjs`);
  library.GlobalWorkerOptions.workerSrc = `${LIBRARY}/pdf.worker.min.mjs`;
  await opened.pdf?.loadingTask.destroy();
  const pdf = await library.getDocument({
    url: `/api/v1/documents/${id}/file`,
    cMapUrl: `${LIBRARY}/cmaps/`,
    cMapPacked: true,
    standardFontDataUrl: `${LIBRARY}/standard_fonts/`,
    wasmUrl: `${LIBRARY}/wasm/`,
    iccUrl: `${LIBRARY}/iccs/`,
    isEvalSupported: false,
    enableXfa: false,
  }).promise;
  opened = { id, pdf };
  return pdf;
}

/** The page as a canvas with its text above it, invisible, so that it can be selected and read out. */
async function drawPage(pdf, number, width) {
  const page = await pdf.getPage(number);
  const natural = page.getViewport({ scale: 1 });
  const viewport = page.getViewport({ scale: Math.min(Math.max(width, MIN_WIDTH_PX), MAX_WIDTH_PX) / natural.width });
  const ratio = Math.min(devicePixelRatio || 1, 2);
  const canvas = h("canvas", { width: Math.floor(viewport.width * ratio), height: Math.floor(viewport.height * ratio), "aria-hidden": "true", style: { width: `${viewport.width}px`, height: `${viewport.height}px` } });
  await page.render({ canvas, viewport, transform: ratio === 1 ? undefined : [ratio, 0, 0, ratio, 0, 0] }).promise;
  const { TextLayer } = await import(`${LIBRARY}/pdf.min.mjs`);
  const text = h("div", { class: "text-layer", style: { "--total-scale-factor": viewport.scale, "--scale-round-x": "1px", "--scale-round-y": "1px" } });
  await new TextLayer({ textContentSource: page.streamTextContent(), container: text, viewport }).render();
  return [canvas, text];
}

/** Rectangles over the cited words of this page, as fractions of its size. */
async function boxes(target, page) {
  const found = await call(`/api/v1/documents/${target.document_id}/boxes?page=${page}&start=${target.start}&end=${target.end}`);
  return found.boxes.map((box) => {
    const percent = (fraction) => `${(fraction * 100).toFixed(3)}%`;
    return h("div", { class: "pdf-mark", style: { left: percent(box.x), top: percent(box.y), width: percent(box.width), height: percent(box.height) } });
  });
}
