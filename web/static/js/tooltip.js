/** One tooltip for the page, shown on hover and on focus, read out through `aria-describedby`, closed by Escape. */

import { h } from "./dom.js";

const GAP = 8;
const tip = h("div", { class: "tooltip", id: "tooltip", role: "tooltip", hidden: true });
document.body.append(tip);
let owner = null;

/** Give `element` a description: `content()` makes its nodes when it is shown. */
export function describe(element, content) {
  const show = () => open(element, content());
  element.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && show());
  element.addEventListener("pointerleave", close);
  element.addEventListener("focus", show);
  element.addEventListener("blur", close);
}

function open(element, nodes) {
  owner?.removeAttribute("aria-describedby");
  owner = element;
  tip.replaceChildren(...[nodes].flat(2).filter((node) => node !== "" && node !== null && node !== undefined));
  tip.hidden = false;
  element.setAttribute("aria-describedby", tip.id);
  const box = element.getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.max(GAP, Math.min(box.left + box.width / 2 - width / 2, innerWidth - width - GAP));
  const above = box.top - height - GAP;
  tip.style.left = `${left}px`;
  tip.style.top = `${above > GAP ? above : box.bottom + GAP}px`;
}

function close() {
  tip.hidden = true;
  owner?.removeAttribute("aria-describedby");
  owner = null;
}

document.addEventListener("keydown", (event) => event.key === "Escape" && close());
document.addEventListener("scroll", close, { capture: true, passive: true });
