/** Build elements without markup strings: text is always text, so nothing from a document or the model can become code. */

/** An element. `props`: `class`, `on: {event: handler}`, `dataset`, `style` (custom properties too), properties or attributes. */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") element.className = value;
    else if (name === "on") for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name === "style") for (const [key, v] of Object.entries(value)) element.style.setProperty(key, v);
    else if (name in element && !name.startsWith("aria") && name !== "list") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element with attributes. */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(name, value);
  element.append(...children.flat(3).filter(Boolean));
  return element;
}

/** An icon of the page's sprite; decorative, so the button around it needs a name. */
export function icon(name) {
  return s("svg", { "aria-hidden": "true" }, s("use", { href: `#i-${name}` }));
}

/** The element with this id; the page's template promises it. */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page lacks #${id}`);
  return found;
}

/** The reader's preference for no motion decides how to scroll. */
export function scrollBehaviour() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
}
