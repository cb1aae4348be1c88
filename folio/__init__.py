"""The spine of Folio: settings, errors, the catalog, logging, metrics and the command line."""

__version__ = "0.1.0"
