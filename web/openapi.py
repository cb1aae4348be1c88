"""The OpenAPI 3.1 description, generated from the handlers, and the page at `/docs` that shows it with Swagger UI.

Everything the page needs comes from this server: Swagger UI's files lie in its wheel.
"""

from importlib.util import find_spec
from pathlib import Path

from flask import Blueprint, Response, current_app, send_from_directory
from flask_openapi3 import Info, OpenAPI, SecurityScheme

from folio import __version__
from folio.errors import ConfigurationError, NotFound
from web.access import needs
from web.api.described import SCHEMAS
from web.errors import Problem, every_code, validation_response
from web.replies import reply

DESCRIPTION = (
    "Answers over your documents, every sentence checkable against its page. "
    "Errors are problem details (RFC 9457) with a stable `code`."
)
OWN_FILES = Path(__file__).parent / "docs_page"
SWAGGER_ASSETS = {"swagger-ui.css": "css", "swagger-ui-bundle.js": "js"}

docs = Blueprint("docs", __name__)


def new_openapi_app() -> OpenAPI:
    """A Flask application that describes its API handlers and answers invalid requests with problems."""
    return OpenAPI(
        "web",
        info=Info(title="Folio", version=__version__, description=DESCRIPTION),
        security_schemes={"key": SecurityScheme(type="http", scheme="bearer", description="An API key.")},
        doc_ui=False,
        validation_error_status=400,
        validation_error_model=Problem,
        validation_error_callback=validation_response,
        openapi_extensions={"security": [{"key": []}, {}]},
    )


@docs.get("/openapi.json")
@needs("")
def openapi_json() -> Response:
    """The description itself."""
    spec = current_app.api_doc  # type: ignore[attr-defined]
    components = {**SCHEMAS, **spec["components"]["schemas"]}
    return reply({**spec, "components": {**spec["components"], "schemas": components}})


@docs.get("/docs")
@needs("")
def docs_page() -> Response:
    """The page that shows it."""
    return send_from_directory(OWN_FILES, "index.html")


@docs.get("/docs/<name>")
@needs("")
def docs_asset(name: str) -> Response:
    """A file of that page."""
    if name in SWAGGER_ASSETS:
        return send_from_directory(_swagger_ui() / SWAGGER_ASSETS[name], name, max_age=3600)
    return send_from_directory(OWN_FILES, name)


@docs.get("/problems/<code>")
@needs("")
def problem_page(code: str) -> Response:
    """What a problem code means: where the `type` of a problem leads."""
    known = every_code()
    if code not in known:
        raise NotFound(f"There is no problem code {code!r}.")
    return reply({"code": code, **known[code]})


def _swagger_ui() -> Path:
    """Where the wheel keeps Swagger UI; found without importing it, which would register its own page."""
    spec = find_spec("flask_openapi3_swagger")
    if spec is None or spec.origin is None:
        raise ConfigurationError("The package flask-openapi3-swagger is not installed. Run `make setup`.")
    return Path(spec.origin).parent / "templates" / "swagger"
