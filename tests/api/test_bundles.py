"""Files that are sent along with jobs: stored for a team, needed by its jobs, and shown with them."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from muster.api.bundle_collection import bundles_in_use
from muster.worker.bundles import store as stores
from muster.worker.bundles.collecting import collect
from muster.worker.bundles.manifest import BLOCK_BYTES, BundleEntry, BundleManifest, Origin, digest
from muster.worker.bundles.store import joined_blocks, split_blocks, team_store
from tests.api.world import World, job_file, played, submitted

CODE, DIFF = b"print()\n", b"-one\n+two\n"
MANIFEST = BundleManifest(
    entries=(BundleEntry(path="train.py", size=len(CODE), blocks=(digest(CODE),)),),
    origin=Origin(commit="c" * 40, branch="main", dirty=True, diff=(digest(DIFF),), diff_bytes=len(DIFF)),
)
BUNDLE = {"id": MANIFEST.id, "files": 1, "size": len(CODE), "commit": "c" * 40, "dirty": True}
FILES: dict[str, Any] = {"workdir": ".", "bundle": BUNDLE}
LATER_S = 1e12


async def stored(client: httpx.AsyncClient, team: str = "nlp") -> None:
    blocks = await client.post(f"/v1/bundles/blocks?team={team}", content=joined_blocks([CODE, DIFF]))
    assert (blocks.status_code, blocks.json()) == (200, {"stored": 2})
    answer = await client.post(f"/v1/bundles?team={team}", content=MANIFEST.text)
    assert answer.json() == {"id": MANIFEST.id, "missing": []}


def test_the_server_says_which_blocks_are_missing_and_then_has_them() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        first = await client.post("/v1/bundles?team=nlp", content=MANIFEST.text)
        assert first.json() == {"id": MANIFEST.id, "missing": [digest(CODE), digest(DIFF)]}
        assert not team_store(world.bundles, "nlp").has(MANIFEST.id)
        await stored(client)
        assert team_store(world.bundles, "nlp").has(MANIFEST.id)

    played(scenario)


def test_a_job_needs_the_bundle_that_it_names_in_the_store_of_its_team() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        body = {"job": job_file(**FILES)}
        refused = await client.post("/v1/jobs", json=body)
        assert refused.status_code == 422
        assert f"bundle {MANIFEST.id[:12]} is not stored for team nlp: submit the job file again" in refused.text
        assert (await client.post("/v1/jobs?dry_run=true", json=body)).status_code == 200
        await stored(client)
        job = await submitted(client, **FILES)
        assert (await client.get(f"/v1/jobs/{job}")).json()["spec"]["bundle"] == BUNDLE
        async with world.client("other") as other:
            theirs = await other.post("/v1/jobs", json={"job": job_file(team="vision", **FILES)})
        assert theirs.status_code == 422
        assert "is not stored for team vision" in theirs.text

    played(scenario)


def test_what_a_job_was_submitted_with_is_read_block_by_block_and_nothing_else() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await stored(client)
        job = await submitted(client, **FILES)
        manifest = await client.get(f"/v1/jobs/{job}/bundle/manifest")
        assert digest(manifest.content) == MANIFEST.id
        where = f"/v1/jobs/{job}/bundle/blocks"
        answer = await client.post(where, json={"names": [digest(CODE), digest(DIFF)]})
        assert split_blocks(answer.content) == [CODE, DIFF]
        other = team_store(world.bundles, "nlp").put_block(b"of another job")
        strange = await client.post(where, json={"names": [digest(CODE), other]})
        assert (strange.status_code, "is no block of the bundle" in strange.text) == (422, True)
        assert (await client.post(where, json={"names": ["../secrets"]})).status_code == 422
        plain = await submitted(client)
        assert (await client.get(f"/v1/jobs/{plain}/bundle/manifest")).status_code == 404
        collect(world.bundles, [], now_s=LATER_S)
        gone = await client.get(f"/v1/jobs/{job}/bundle/manifest")
        assert (gone.status_code, "are not stored any more: submit it again" in gone.text) == (404, True)

    played(scenario)


def test_an_answer_has_as_many_blocks_as_fit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(stores, "ANSWER_BYTES", 10)
    store = stores.BundleStore(tmp_path)
    names = [store.put_block(text) for text in (b"123456", b"7890", b"more")]
    assert store.first(names) == [b"123456", b"7890"]
    assert store.first(names[2:]) == [b"more"]


def test_a_relative_workdir_whose_files_were_not_sent_is_refused() -> None:
    async def scenario(_: World, client: httpx.AsyncClient) -> None:
        answer = await client.post("/v1/jobs", json={"job": job_file(workdir="code")})
        assert answer.status_code == 422
        assert "workdir: 'code' is relative, and its files were not sent along" in answer.json()["detail"]

    played(scenario)


def test_a_job_shows_its_commit_and_difference_also_when_the_files_are_gone() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await stored(client)
        job = await submitted(client, **FILES)
        shown = (await client.get(f"/v1/jobs/{job}/bundle")).json()
        assert shown == {
            "id": MANIFEST.id,
            "files": 1,
            "bytes": len(CODE),
            "commit": "c" * 40,
            "branch": "main",
            "dirty": True,
            "kept": True,
            "diff": DIFF.decode(),
            "diff_cut": False,
        }
        collect(world.bundles, [], now_s=LATER_S)
        later = (await client.get(f"/v1/jobs/{job}/bundle")).json()
        assert (later["commit"], later["kept"], later["diff"]) == ("c" * 40, False, None)
        plain = await submitted(client)
        none = await client.get(f"/v1/jobs/{plain}/bundle")
        assert none.status_code == 404
        assert "nothing was copied" in none.text

    played(scenario)


def test_a_job_whose_files_are_gone_is_not_submitted_again() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await stored(client)
        job = await submitted(client, held=True, **FILES)
        assert (await client.post(f"/v1/jobs/{job}/cancel")).status_code == 200
        assert (await client.post(f"/v1/jobs/{job}/retry")).status_code == 201
        collect(world.bundles, [], now_s=LATER_S)
        refused = await client.post(f"/v1/jobs/{job}/retry")
        assert refused.status_code == 422
        assert "is not stored for team nlp" in refused.text

    played(scenario)


def test_jobs_that_have_not_ended_keep_their_bundles_and_so_do_arrays() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await stored(client)
        assert list(bundles_in_use(world.control.view)) == []
        await submitted(client, held=True, **FILES)
        assert set(bundles_in_use(world.control.view)) == {("nlp", MANIFEST.id)}
        await submitted(client, array="0-3", held=True, **FILES)
        assert len(list(bundles_in_use(world.control.view))) == 6

    played(scenario)


@pytest.mark.parametrize(
    ("path", "content", "status", "problem"),
    [
        ("/v1/bundles?team=nlp", b"{}", 422, "a manifest has"),
        ("/v1/bundles?team=nlp", b"", 422, "a manifest is a JSON object"),
        ("/v1/bundles?team=../nlp", MANIFEST.text, 422, "team: '../nlp' is not the path of a team"),
        ("/v1/bundles?team=vision", MANIFEST.text, 403, "jobs.submit on team vision"),
        ("/v1/bundles/blocks?team=nlp", b"\0\0\1", 422, "cut off"),
        ("/v1/bundles/blocks?team=nlp", b"", 422, "no block was sent"),
        ("/v1/bundles/blocks?team=nlp", b"x" * (BLOCK_BYTES + 200_000), 413, "larger than"),
        ("/v1/bundles/blocks?team=vision", joined_blocks([CODE]), 403, "jobs.submit on team vision"),
    ],
)
def test_what_is_wrong_is_said(path: str, content: bytes, status: int, problem: str) -> None:
    async def scenario(_: World, client: httpx.AsyncClient) -> None:
        answer = await client.post(path, content=content)
        assert answer.status_code == status, answer.text
        assert problem in answer.json()["detail"]

    played(scenario)


def test_a_full_disk_is_no_fault_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "FREE_LEAST_BYTES", 1 << 60)

    async def scenario(_: World, client: httpx.AsyncClient) -> None:
        answer = await client.post("/v1/bundles/blocks?team=nlp", content=joined_blocks([CODE]))
        assert answer.status_code == 503
        assert "nearly full" in answer.json()["detail"]

    played(scenario)
