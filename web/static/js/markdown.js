/** Markdown from the model to safe DOM: an allow-list of elements, no attributes that could act, no links, no images. */

import { Marked } from "../vendor/marked-18.2.1/marked.esm.js";
import "../vendor/dompurify-3.5.0/purify.min.js";
import { h } from "./dom.js";

const CITE_OPEN = "\uE000";
const CITE_CLOSE = "\uE001";
const MATH_OPEN = "\uE002";
const MATH_CLOSE = "\uE003";
const SPACE = "\uE004";
const CITATION = /( ?)\[(\d{1,3})\]/g; // with the space before it, which the button's margin replaces
const FORMULA = /\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\]|\\\(([\s\S]+?)\\\)|(?<![\w$\\])\$(?=[^\s\d$])([^$\n]*?[^\s$\\])\$(?![\w$])/g;
const HELD = /\uE000(\uE004?)(\d+)\uE001|\uE002(\d+)\uE003/g;
const ALLOWED = {
  ALLOWED_TAGS: ["p", "br", "strong", "em", "del", "code", "pre", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr",
    "th", "td", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "sup", "sub"],
  ALLOWED_ATTR: ["start"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};
// What looks like HTML in an answer is text about HTML; it is shown, not parsed.
const marked = new Marked({ gfm: true, renderer: { html: ({ text }) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;") } });
// A heading inside an answer stands below the page's own.
const HEADINGS = { H1: "h3", H2: "h4", H3: "h5", H4: "h6", H5: "h6", H6: "h6" };

/** Draw `text`; `citation(n)` makes the node that stands for `[n]`. */
export function render(text, citation) {
  const formulas = [];
  const held = text
    .replace(/[\uE000-\uE004]/g, "")
    .replace(FORMULA, (whole, ...groups) => {
      const block = groups[0] ?? groups[1];
      formulas.push({ whole, tex: block ?? groups[2] ?? groups[3], block: block !== undefined });
      return `${MATH_OPEN}${formulas.length - 1}${MATH_CLOSE}`;
    })
    .replace(CITATION, (_, space, n) => `${CITE_OPEN}${space && SPACE}${n}${CITE_CLOSE}`);
  const fragment = DOMPurify.sanitize(marked.parse(held), ALLOWED);
  lowerHeadings(fragment);
  release(fragment, formulas, citation);
  for (const table of fragment.querySelectorAll("table")) {
    const scroller = h("div", { class: "table-scroll", tabIndex: 0 });
    table.replaceWith(scroller);
    scroller.append(table);
  }
  return fragment;
}

function lowerHeadings(fragment) {
  for (const heading of fragment.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    heading.replaceWith(h(HEADINGS[heading.tagName], {}, ...heading.childNodes));
  }
}

function release(fragment, formulas, citation) {
  const walker = document.createTreeWalker(fragment, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const node of texts) {
    if (!HELD.test(node.data)) continue;
    HELD.lastIndex = 0;
    const verbatim = node.parentElement?.closest("code, pre");
    const parts = [];
    let end = 0;
    for (const match of node.data.matchAll(HELD)) {
      parts.push(node.data.slice(end, match.index));
      end = match.index + match[0].length;
      const [, space, n, m] = match;
      if (verbatim) parts.push(n ? `${space && " "}[${n}]` : formulas[m].whole);
      else parts.push(n ? citation(Number(n)) : formula(formulas[m]));
    }
    parts.push(node.data.slice(end));
    node.replaceWith(...parts.filter((part) => part !== ""));
  }
}

let katex = null;

/** A formula, as its source until KaTeX has come, then as MathML, which the browser itself draws. */
function formula({ whole, tex, block }) {
  const place = h("span", { class: block ? "math block" : "math" }, whole);
  katex ??= import("../vendor/katex-0.19.1/katex.min.js").then(() => globalThis.katex);
  katex.then((library) => library.render(tex, place, { output: "mathml", displayMode: block, throwOnError: true, trust: false, maxExpand: 200, strict: false }))
    .catch(() => { place.textContent = whole; });
  return place;
}
