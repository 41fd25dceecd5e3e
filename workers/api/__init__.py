"""Claims over HTTP, for other systems."""

from workers.api.routes import api
from workers.api.serving import serve_api_alone, serve_beside_api, serving_api

__all__ = ["api", "serve_api_alone", "serve_beside_api", "serving_api"]
