"""The REST interface, one file a resource. Handlers translate HTTP to the parts' calls and back, and nothing else."""

import web.api.uploads  # noqa: F401 (adds its POST to documents_api)
from web.api.answers import answers_api
from web.api.ask import ask_api
from web.api.collections import collections_api
from web.api.conversations import conversations_api
from web.api.documents import documents_api
from web.api.health import health_api
from web.api.jobs import jobs_api
from web.api.keys import keys_api
from web.api.quality import quality_api
from web.api.search import search_api
from web.api.session import session_api

REST = (
    ask_api,
    search_api,
    documents_api,
    jobs_api,
    collections_api,
    conversations_api,
    answers_api,
    session_api,
    keys_api,
    quality_api,
    health_api,
)
