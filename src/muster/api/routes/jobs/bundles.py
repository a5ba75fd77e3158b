"""Working directories that are sent along with jobs: storing them before a job, and showing that of a job."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

from fastapi import APIRouter, Depends, Query, Request, Response
from starlette.requests import ClientDisconnect

from muster.access.permissions import Permission
from muster.answers.bundles import JobBundle, StoredBlocks, StoredBundle
from muster.api.authorized_changes import require, visible
from muster.api.gate import Caller, Needs
from muster.api.routes.error_responses import FOUND, errors
from muster.api.routes.jobs.jobs import JobPath
from muster.api.schemas.bundles import WantedBlocks
from muster.formats.parts.kinds import team_path
from muster.formats.text.units import BadValue
from muster.model.errors import InvalidInput, NotFound, Unavailable
from muster.model.ids import TeamPath
from muster.model.spec import DEFAULT_TEAM, Bundle
from muster.worker.bundles.manifest import BadManifest, BundleManifest, parse_manifest
from muster.worker.bundles.store import BundleStore, NoRoom, joined_blocks, split_blocks, team_store

T = TypeVar("T")
P = ParamSpec("P")

router = APIRouter(tags=["jobs"])

Submits = Annotated[Caller, Depends(Needs(Permission.JOBS_SUBMIT))]
Team = Annotated[
    str, Query(max_length=500, description="The team of the job. Each team has a store of its own.", examples=["nlp"])
]
OCTETS = {"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string"}}}}}
OCTET_STREAM = "application/octet-stream"
OCTETS_SENT: dict[int | str, dict[str, Any]] = {
    200: {"content": {OCTET_STREAM: {"schema": {"type": "string", "format": "binary"}}}}
}
STORED = errors(401, 403, 413, 422, 429, 503)


@router.post(
    "/v1/bundles",
    operation_id="store_bundle",
    summary="Store a working directory, or learn what is missing",
    responses=STORED,
    openapi_extra=OCTETS,
)
async def store_bundle(caller: Submits, request: Request, team: Team = DEFAULT_TEAM) -> StoredBundle:
    """Store the manifest of a bundle, if all of its blocks are there; otherwise say which are to be sent first.

    A bundle that no job uses is removed after a month, and a block that no bundle needs after a day.
    """
    store = await _own_store(caller, team)
    text = await _body(request)
    manifest, missing = await _on_disk(_try_to_store, store, text)
    return StoredBundle(id=manifest.id, missing=tuple(missing))


@router.post(
    "/v1/bundles/blocks",
    operation_id="store_blocks",
    summary="Store parts of files",
    responses=STORED,
    openapi_extra=OCTETS,
)
async def store_blocks(caller: Submits, request: Request, team: Team = DEFAULT_TEAM) -> StoredBlocks:
    """Store blocks, each with its length in four bytes in front of it, the highest first. All are stored, or some."""
    store = await _own_store(caller, team)
    body = await _body(request)
    return StoredBlocks(stored=await _on_disk(_put_blocks, store, body))


@router.get(
    "/v1/jobs/{job}/bundle",
    operation_id="show_bundle",
    summary="Show what a job was submitted with",
    responses=FOUND,
)
async def show_bundle(caller: Annotated[Caller, Depends(Needs(Permission.JOBS_SEE))], job: JobPath) -> JobBundle:
    """The working directory that was copied when the job was submitted: its commit, and the difference to it."""
    record = await visible(caller, job)
    bundle = record.spec.bundle
    if bundle is None:
        raise NotFound(f"nothing was copied when {job} was submitted: its workdir is not relative")
    return await _on_disk(_described, bundle, _store(caller, record.spec.team))


@router.get(
    "/v1/jobs/{job}/bundle/manifest",
    operation_id="read_manifest",
    summary="Read which files a job was submitted with",
    response_class=Response,
    responses={**FOUND, **OCTETS_SENT},
)
async def read_manifest(caller: Submits, job: JobPath) -> Response:
    """The manifest of a job's bundle, byte by byte as it was stored: a bundle is named by the SHA-256 of it."""
    bundle, store = await _of_job(caller, job)
    manifest = await _on_disk(store.manifest, bundle.id)
    if manifest is None:
        raise NotFound(f"the files of {job} are not stored any more: submit it again")
    return Response(manifest.text, media_type=OCTET_STREAM)


@router.post(
    "/v1/jobs/{job}/bundle/blocks",
    operation_id="read_blocks",
    summary="Read parts of files that a job was submitted with",
    response_class=Response,
    responses={**errors(401, 403, 404, 413, 422, 429, 503), **OCTETS_SENT},
)
async def read_blocks(caller: Submits, job: JobPath, wanted: WantedBlocks) -> Response:
    """The first of these blocks, each with its length in four bytes in front of it: as many as fit into 16 MiB."""
    bundle, store = await _of_job(caller, job)
    return Response(await _on_disk(_first_blocks, store, bundle, wanted.names), media_type=OCTET_STREAM)


async def check_bundle(caller: Caller, team: TeamPath, bundle: Bundle | None) -> None:
    """Raise unless the bundle of a job is stored for its team. It counts as used now."""
    if bundle is not None and not await _on_disk(_store(caller, team).has, bundle.id):
        raise InvalidInput(
            f"bundle {bundle.id[:12]} is not stored for team {team}: submit the job file again from its folder, where "
            "`muster submit` sends the files along"
        )


def own_team(caller: Caller, team: TeamPath) -> TeamPath:
    """A job that names no team has the team of the job that submits it, if a job does."""
    principal = caller.principal
    return principal.bindings[0].team if principal.attempt and team == DEFAULT_TEAM else team


async def _own_store(caller: Caller, said: str) -> BundleStore:
    """The store of a team for which the caller may submit jobs."""
    try:
        team = own_team(caller, TeamPath(team_path(said)))
    except BadValue as error:
        raise InvalidInput(f"team: {error.problem}") from None
    await require(caller, Permission.JOBS_SUBMIT, team, action="jobs.submit", subject=team)
    return _store(caller, team)


async def _of_job(caller: Caller, job: str) -> tuple[Bundle, BundleStore]:
    """The bundle of a job, for those who may submit for its team, and where it is stored."""
    record = await visible(caller, job)
    await require(caller, Permission.JOBS_SUBMIT, record.spec.team, action="bundles.read", subject=job)
    if record.spec.bundle is None:
        raise NotFound(f"nothing was copied when {job} was submitted: its workdir is not relative")
    return record.spec.bundle, _store(caller, record.spec.team)


def _store(caller: Caller, team: str) -> BundleStore:
    root: Path | None = caller.deps.bundles
    if root is None:
        raise Unavailable("this server stores no bundles; give the job an absolute workdir")
    return team_store(root, team)


async def _body(request: Request) -> bytes:
    try:
        return await request.body()
    except ClientDisconnect:
        raise InvalidInput("the connection ended before the body did") from None


async def _on_disk(act: Callable[P, T], *given: P.args, **more: P.kwargs) -> T:
    """Call a function that reads or writes files, on a thread. Its errors become those of the API."""
    try:
        return await asyncio.to_thread(act, *given, **more)
    except BadManifest as error:
        raise InvalidInput(str(error)) from None
    except NoRoom as error:
        raise Unavailable(str(error)) from None
    except OSError as error:
        raise Unavailable(f"the bundle cannot be read or stored: {error.strerror or error}") from error


def _try_to_store(store: BundleStore, text: bytes) -> tuple[BundleManifest, list[str]]:
    manifest = parse_manifest(text)
    missing = store.missing(manifest)
    if not missing:
        store.put_manifest(manifest)
    return manifest, missing


def _put_blocks(store: BundleStore, body: bytes) -> int:
    return len([store.put_block(each) for each in split_blocks(body)])


def _first_blocks(store: BundleStore, bundle: Bundle, names: list[str]) -> bytes:
    manifest = store.manifest(bundle.id)
    known = frozenset(() if manifest is None else manifest.blocks())
    strange = next((name for name in names if name not in known), None)
    if strange is not None:
        raise BadManifest(f"{strange[:12]} is no block of the bundle {bundle.id[:12]}, or that is not stored any more")
    return joined_blocks(store.first(names))


def _described(bundle: Bundle, store: BundleStore) -> JobBundle:
    manifest = store.manifest(bundle.id)
    origin = None if manifest is None else manifest.origin
    return JobBundle(
        id=bundle.id,
        files=bundle.files,
        bytes=bundle.size_bytes,
        commit=bundle.commit or None,
        branch=None if origin is None else origin.branch or None,
        dirty=bundle.dirty,
        kept=manifest is not None,
        diff=None if origin is None or not origin.diff else b"".join(store.read(origin.diff)).decode(errors="replace"),
        diff_cut=origin is not None and origin.diff_cut,
    )
