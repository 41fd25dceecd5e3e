"""Where a claim stands in the model of its process: in words, and on the drawing."""

from functools import cache
from urllib.parse import quote
from xml.etree.ElementTree import iterparse

from starlette.responses import FileResponse, Response

from bpmn.names import ProcessId, model_path
from workers.console.pages.claim import known_claim, place_name, place_of, unknown_claim
from workers.console.pages.visit import Visit, render, times_of
from workers.console.views.claim_list import title_of
from workers.console.views.states import claim_state


async def process_page(visit: Visit) -> Response:
    """The place by our own records; the drawing needs a script, the words do not."""
    known = await known_claim(visit)
    if known is None:
        return unknown_claim(visit)
    claim, times, element = known.claim, times_of(visit), place_of(known)
    return render(
        visit,
        "claim_process.html",
        path=f"/claims/{quote(claim.claim_id)}",
        title=title_of(claim, visit.words),
        state=claim_state(claim, known.beside, times),
        element=element,
        place=place_name(element, visit.words),
        label=_labels().get(element, ""),
        is_final=claim.state.is_final,
        updated=times.at(claim.updated_at),
    )


async def process_model(_visit: Visit) -> Response:
    """The model as it is deployed with this version."""
    path = model_path(ProcessId.SUB_06)
    return FileResponse(path, media_type="application/xml")


@cache
def _labels() -> dict[str, str]:
    """What stands beside the elements on the drawing."""
    found = (element for _, element in iterparse(model_path(ProcessId.SUB_06)))  # noqa: S314  # our own file
    return {one.get("id", ""): one.get("name", "") for one in found if one.get("id") and one.get("name")}
