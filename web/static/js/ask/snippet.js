/** The part of a passage that fits a question best, with the question's words marked: what a list has room for. */

import { h } from "../dom.js";

const ROOM = 180; // characters in the two lines of a list's row
const LEAD = 40;
const CHINESE = /[\u3400-\u9fff]{2,}/g;
const WORD = /[\p{L}\p{N}]{3,}/gu;

/** The nodes of that part; a question without a match shows the passage's beginning. */
export function snippet(text, question) {
  const flat = text.replace(/\s+/g, " ").trim();
  const matches = find(flat, terms(question));
  const from = flat.length > ROOM ? start(flat, best(matches)) : 0;
  const nodes = from ? ["…"] : [];
  let at = from;
  for (const { index, length } of matches) {
    if (index < at) continue;
    nodes.push(flat.slice(at, index), h("mark", {}, flat.slice(index, index + length)));
    at = index + length;
  }
  return [...nodes, flat.slice(at)];
}

/** What to look for: words by their beginning, since endings differ, and pairs of Chinese characters. */
function terms(question) {
  const pairs = (question.match(CHINESE) ?? []).flatMap((run) => [...run.slice(1)].map((_, i) => run.slice(i, i + 2)));
  const words = (question.toLowerCase().replace(CHINESE, " ").match(WORD) ?? []).map((word) => (word.length > 5 ? word.slice(0, -2) : word));
  return new Set([...pairs, ...words]);
}

function find(text, wanted) {
  const low = text.toLowerCase();
  if (low.length !== text.length) return []; // a letter whose small form is longer; its places would be wrong
  const found = [...low.matchAll(WORD)].flatMap(({ 0: word, index }) => {
    const term = [...wanted].find((each) => word.startsWith(each));
    return term ? [{ index, length: word.length, term }] : [];
  });
  for (let index = 0; index < low.length - 1; index += 1) {
    const term = low.slice(index, index + 2);
    if (wanted.has(term) && /^[\u3400-\u9fff]/.test(term)) found.push({ index, length: 2, term });
  }
  return found.sort((a, b) => a.index - b.index).filter(({ length }) => length < 40);
}

/** Where the stretch begins that holds the most different terms, longer ones counting more. */
function best(matches) {
  let chosen = { worth: 0, index: 0 };
  for (const { index } of matches) {
    const inside = new Set(matches.filter((each) => each.index >= index && each.index + each.length <= index + ROOM - LEAD).map((each) => each.term));
    const worth = [...inside].reduce((sum, term) => sum + term.length, 0);
    if (worth > chosen.worth) chosen = { worth, index };
  }
  return chosen.index;
}

/** A little before the match, at the beginning of a word. */
function start(text, index) {
  if (index <= LEAD) return 0;
  const space = text.indexOf(" ", index - LEAD);
  return space >= 0 && space < index ? space + 1 : index - LEAD / 2;
}
