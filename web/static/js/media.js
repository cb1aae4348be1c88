/** Short names of media types. */

const NAMES = {
  "application/pdf": "PDF",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "Word",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": "PowerPoint",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "Excel",
  "application/epub+zip": "EPUB",
  "application/json": "JSON",
  "application/x-ndjson": "JSONL",
  "message/rfc822": "E-mail",
  "text/html": "HTML",
  "text/markdown": "Markdown",
  "text/plain": "Text",
  "text/csv": "CSV",
  "text/tab-separated-values": "TSV",
};

/** `application/pdf` is PDF; an unknown type shows its own last part. */
export function kind(mediaType) {
  return NAMES[mediaType] ?? mediaType.split("/").at(-1).replace(/^(x-|vnd\.)/, "");
}
