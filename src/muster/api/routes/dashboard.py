"""The dashboard: one page for all of its addresses, and the files that it loads. Neither holds anything of anybody."""

from functools import cache
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Header
from starlette.responses import Response

from muster.api.dashboard.files import PAGE, BuiltFile, built_files
from muster.api.gate import Open
from muster.api.services import Services
from muster.model.errors import NotFound

router = APIRouter(include_in_schema=False)

PLACES = ("/", "/cluster", "/jobs", "/jobs/{job}", "/submit", "/teams", "/nodes", "/what-if", "/audit", "/sign-in")

ASSETS = "assets/"
FOR_EVER = "public, max-age=31536000, immutable"
"""The name of an asset changes with what is in it."""

ASK_AGAIN = "no-cache"

NOT_BUILT = (
    "this Muster was installed without its dashboard, because there was no Node.js to build it with;"
    " install Node.js 20 or newer and install Muster again"
)

_files = cache(built_files)

Given = Annotated[str, Header(alias="if-none-match")]
Accepted = Annotated[str, Header(alias="accept-encoding")]
Anybody = Annotated[Services, Depends(Open())]


async def show_page(_: Anybody, known: Given = "", encodings: Accepted = "") -> Response:
    """The page. What it shows depends on its address, and on who is signed in."""
    page = _files().get(PAGE)
    if page is None:
        return Response(NOT_BUILT, HTTPStatus.NOT_FOUND, media_type="text/plain")
    return _sent(page, known, encodings, ASK_AGAIN)


for _place in PLACES:
    router.add_api_route(_place, show_page, methods=["GET"], operation_id=f"show_page {_place}")


@router.get("/assets/{name}", operation_id="load_asset")
@router.get("/icon.svg", operation_id="load_icon")
async def load_file(_: Anybody, name: str = "", known: Given = "", encodings: Accepted = "") -> Response:
    """A file that the page loads."""
    file = _files().get(f"{ASSETS}{name}" if name else "icon.svg")
    if file is None:
        raise NotFound("there is no such file; load the page again")
    return _sent(file, known, encodings, FOR_EVER if name else ASK_AGAIN)


def _sent(file: BuiltFile, known: str, encodings: str, keep: str) -> Response:
    headers = {"ETag": file.etag, "Cache-Control": keep, "Vary": "Accept-Encoding"}
    if file.etag in known:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    if "gzip" not in encodings:
        return Response(file.plain, media_type=file.media_type, headers=headers)
    return Response(file.compressed, media_type=file.media_type, headers={**headers, "Content-Encoding": "gzip"})
