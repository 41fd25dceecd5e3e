"""Claims over HTTP, for other systems."""

from workers.api.routes import api
from workers.api.serving import serving_api

__all__ = ["api", "serving_api"]
