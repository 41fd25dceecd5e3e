"""The interface's own description (OpenAPI 3.1), made of the table that serves it."""

import re
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from domain.claim import CLAIM_ID_MAX, CLAIM_ID_PATTERN
from workers.api import claims
from workers.api.models import ProblemAnswer
from workers.api.operations import OPERATIONS, SUBMIT, ApiOperation

REFERENCE = "#/components/schemas/{model}"
REFUSED = {
    400: "The question cannot be read.",
    401: "Who asks is not known.",
    403: "Who asks may not.",
    404: "Nothing is known under this id.",
    409: "Its state does not allow it.",
    413: "It is too large.",
    415: "The body is of another kind.",
    422: "It can be read, and cannot be sent.",
    503: "Engine or database are away: ask again.",
}
IN_PATH = {
    "claim_id": {"type": "string", "pattern": f"^{CLAIM_ID_PATTERN}$", "maxLength": CLAIM_ID_MAX},
    "payer_id": {"type": "string", "minLength": 1},
}
_PARAMETER = re.compile(r"\{(\w+)\}")


@cache
def description() -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, dict[str, Any]] = {}
    for one in OPERATIONS:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Reenvio", "version": version("reenvio"), "description": __doc__},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(one: ApiOperation) -> dict[str, Any]:
    told = {str(status): _answer(text, one.result) for status, text in one.statuses.items()}
    refused = {str(status): _answer(text, ProblemAnswer) for status, text in REFUSED.items()}
    described = {
        "summary": (one.answers or claims.submit).__doc__,
        "description": f"For systems that may `{one.permission}`.",
        "operationId": f"{one.method.lower()}{re.sub(r'[^a-z]+', '_', one.path.removeprefix('/api'))}",
        "parameters": [*_in_path(one), *_in_query(one)],
        "responses": told | refused,
    }
    return described | ({"requestBody": body} if (body := _body(one)) else {})


def _answer(text: str, model: type[BaseModel]) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": _reference(model)}}}


def _body(one: ApiOperation) -> dict[str, Any] | None:
    if one is SUBMIT:
        file = {"type": "string", "format": "binary"}
        return {
            "required": True,
            "content": {kind: {"schema": file} for kind in ("application/xml", "text/xml")},
        }
    if one.order is None:
        return None
    return {"required": True, "content": {"application/json": {"schema": _reference(one.order)}}}


def _in_path(one: ApiOperation) -> Sequence[dict[str, Any]]:
    names = _PARAMETER.findall(one.path)
    return [{"name": name, "in": "path", "required": True, "schema": IN_PATH[name]} for name in names]


def _in_query(one: ApiOperation) -> Sequence[dict[str, Any]]:
    shape = one.query.model_json_schema(ref_template=REFERENCE)
    return [
        {"name": name, "in": "query", "schema": schema}
        for name, schema in shape.get("properties", {}).items()
    ]


def _schemas() -> dict[str, Any]:
    told = [(one.result, "serialization") for one in OPERATIONS]
    asked = [(one.order, "validation") for one in OPERATIONS if one.order]
    queries = [(one.query, "validation") for one in OPERATIONS]
    every: Any = [*told, (ProblemAnswer, "serialization"), *asked, *queries]
    _, definitions = models_json_schema(every, ref_template=REFERENCE)
    found: dict[str, Any] = definitions["$defs"]
    return found


def _reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": REFERENCE.format(model=model.__name__)}
