"""Builds the Flask application: everything is registered here in plain sight, in the order in which it acts."""

from flask_openapi3 import OpenAPI
from werkzeug.middleware.proxy_fix import ProxyFix

from folio.audit import AuditLog
from folio.keys import KeyStore
from folio.services import Services
from web.access import register_access
from web.api import REST
from web.bodies import register_bodies
from web.context import WebState
from web.errors import register_errors
from web.limits import register_limits
from web.observe import register_observation
from web.openai_door.routes import openai_api
from web.openapi import docs, new_openapi_app
from web.pages import pages
from web.security import register_host_check, register_security
from web.streams import AnswerStreams


def create_app(services: Services) -> OpenAPI:
    """The web application over these services.

    Raises:
        ConfigurationError: a web setting is not valid.
    """
    settings = services.settings
    app = new_openapi_app()
    app.extensions["folio"] = WebState(
        services=services,
        keys=KeyStore(services.catalog),
        audit=AuditLog(services.catalog),
        streams=AnswerStreams(settings.max_answers, settings.stream_grace_s),
    )
    if settings.trusted_proxies:
        n = settings.trusted_proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=n, x_proto=n, x_host=n, x_prefix=n)  # type: ignore[method-assign]

    register_errors(app)
    register_observation(app)
    register_host_check(app, settings)
    register_access(app)
    register_security(app, settings)
    register_limits(app, settings)
    register_bodies(app, settings)
    for blueprint in (*REST, openai_api):
        app.register_api(blueprint)
    app.register_blueprint(docs)
    app.register_blueprint(pages)
    return app
