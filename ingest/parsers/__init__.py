"""One file a kind of document; `registry` knows which parser reads which file."""
