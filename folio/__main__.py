"""`python -m folio` is the command line."""

from folio.cli import main

if __name__ == "__main__":
    main()
