/**
 * Find the sentences of an answer in its drawn text. Markdown has eaten marks and made elements since the sentences were
 * cut, so both sides are compared by their letters and digits only, in order.
 */

const KEPT = /[\p{L}\p{N}]/u;
const CITATION = /\[\d{1,3}\]/g;
const FORMULA = /\$\$[\s\S]+?\$\$|\\\[[\s\S]+?\\\]|\\\([\s\S]+?\\\)/g;

/**
 * For each sentence that is found: the pieces of text nodes that make it, last piece first in no node twice, so that
 * each piece can be wrapped without moving those still to come. Citation buttons and formulas count as nothing.
 */
export function align(fragment, sentences) {
  const { flat, at } = flatten(fragment);
  const found = [];
  let cursor = 0;
  for (const sentence of sentences) {
    const key = letters(sentence.text);
    const start = key ? flat.indexOf(key, cursor) : -1;
    if (start < 0) continue;
    cursor = start + key.length;
    found.push({ sentence, ranges: pieces(at.slice(start, cursor)) });
  }
  return found.reverse().map(({ sentence, ranges }) => ({ sentence, ranges }));
}

function letters(text) {
  return [...text.replace(CITATION, "").replace(FORMULA, "")].filter((c) => KEPT.test(c)).join("");
}

function flatten(fragment) {
  const walker = document.createTreeWalker(fragment, NodeFilter.SHOW_TEXT, (node) =>
    node.parentElement?.closest(".cite, .math") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
  let flat = "";
  const at = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    let offset = 0;
    for (const c of node.data) {
      if (KEPT.test(c)) {
        flat += c;
        for (let unit = 0; unit < c.length; unit += 1) at.push({ node, offset, length: c.length });
      }
      offset += c.length;
    }
  }
  return { flat, at };
}

function pieces(places) {
  const byNode = new Map();
  for (const { node, offset, length } of places) {
    const piece = byNode.get(node) ?? { node, start: offset, end: 0 };
    piece.end = offset + length;
    byNode.set(node, piece);
  }
  const list = [...byNode.values()];
  const last = list.at(-1);
  last.end += /^[^\p{L}\p{N}\s]*/u.exec(last.node.data.slice(last.end))[0].length;
  return list;
}
