/** The API counts characters (code points); JavaScript's strings count UTF-16 units. They differ after an emoji. */

/** The UTF-16 offsets of ascending character offsets. */
export function units(text, offsets) {
  if (!/[\uD800-\uDBFF]/.test(text)) return offsets;
  const found = [];
  let characters = 0;
  let unit = 0;
  for (const offset of offsets) {
    while (characters < offset && unit < text.length) {
      unit += text.codePointAt(unit) > 0xffff ? 2 : 1;
      characters += 1;
    }
    found.push(unit);
  }
  return found;
}
