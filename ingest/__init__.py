"""Files and URLs in, searchable documents out: parse, chunk, embed, commit to the catalog."""
