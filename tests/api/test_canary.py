"""A secret that goes in comes out nowhere: not in answers, events, the audit, figures, or the server's log."""

import asyncio
import json
import logging
from pathlib import Path

import httpx

from muster.access.local_token import local_token
from muster.attempt_token import attempt_token
from muster.live.logging import HIDDEN, JsonLines, log_to
from muster.model.ids import JobId
from tests.api.ports_in_memory import Store, Tokens
from tests.api.world import World, a_world, job_file, submitted

PATHS = (
    "/v1/jobs /v1/queue /v1/nodes /v1/teams /v1/tiers /v1/pools /v1/policy /v1/tokens /v1/audit /v1/whoami /v1/export "
    "/healthz /metrics /openapi.json /v1/jobs/nothing /nowhere"
)


async def _everything_said(world: World, secret: str) -> str:
    """Every answer that can be had, after everything that can go wrong with a token has."""
    async with world.client("admin") as admin:
        said = []
        made = await admin.post("/v1/tokens", json={"name": "x", "bindings": [{"role": "admin"}]})
        new = made.json()["secret"]
        for token in (new, secret):
            headers = {"Authorization": f"Bearer {token}"}
            said.append(await admin.get("/v1/whoami", headers=headers))
            said.append(await admin.get(f"/v1/jobs?cursor={token}", headers=headers))
            said.append(await admin.get(f"/v1/tokens/{token}", headers=headers))
            said.append(await admin.delete(f"/v1/tokens/{token}", headers=headers))
        said.append(await admin.get("/v1/whoami", headers={"Authorization": f"Bearer {new}x"}))
        job = await submitted(admin, secrets=["HF_TOKEN"])
        said += [await admin.get(path) for path in (*PATHS.split(), f"/v1/jobs/{job}", f"/v1/jobs/{job}/events")]
        texts = [answer.text for answer in said]
        events = "\n".join(str(event) for event in world.store.read())
        audit = "\n".join(str(entry) for entry in world.store.audit)
        assert new not in "".join(texts).replace(_echo(said, new), "")
        return "\n".join([*texts, events, audit]).replace(_echo(said, secret), "")


def _echo(answers: list[httpx.Response], secret: str) -> str:
    """A token that a caller puts into an address comes back to the caller in the message about it, and nowhere else."""
    return f"there is no token {secret}" if any(secret in str(answer.url) for answer in answers) else "\0"


def test_a_token_appears_in_no_answer_event_audit_entry_or_log_line(tmp_path: Path) -> None:
    handler = log_to(tmp_path / "server.log", level=logging.DEBUG)
    try:
        with a_world() as world:
            secret = world.secrets["lead"]
            said = asyncio.run(_everything_said(world, secret))
            logging.getLogger("muster.api").warning("somebody sent %s", secret, extra={"header": f"Bearer {secret}"})
        assert secret not in said
        assert "digest" not in said.replace("The digest", "")
    finally:
        logging.getLogger().removeHandler(handler)
        logging.getLogger().setLevel(logging.WARNING)
        handler.close()
    logged = (tmp_path / "server.log").read_text()
    assert secret not in logged
    assert HIDDEN in logged
    assert (tmp_path / "server.log").stat().st_mode & 0o777 == 0o600


def test_a_log_line_hides_the_secret_part_of_the_token_of_an_attempt() -> None:
    token = attempt_token(b"k" * 32, JobId("job-7"), 1, "job-7-1")
    record = logging.makeLogRecord({"msg": "somebody sent %s", "args": (token,)})
    assert json.loads(JsonLines().format(record))["message"] == f"somebody sent muster_attempt_job-7_1_{HIDDEN}"


def test_a_log_line_is_json_with_what_it_is_about() -> None:
    record = logging.makeLogRecord(
        {"name": "muster.live", "levelname": "ERROR", "msg": "no %s", "args": ("luck",), "job": "job-1", "attempt": 2}
    )
    said = json.loads(JsonLines().format(record))
    assert (said["level"], said["logger"], said["message"]) == ("error", "muster.live", "no luck")
    assert (said["job"], said["attempt"]) == ("job-1", 2)
    assert said["at"].endswith("Z")


def test_a_secret_of_a_job_is_named_and_never_shown() -> None:
    async def scenario(world: World) -> None:
        async with world.client("member") as member:
            answer = await member.post("/v1/jobs", json={"job": job_file(secrets=["HF_TOKEN"])})
            assert answer.json()["spec"]["secrets"] == ["HF_TOKEN"]

    with a_world() as world:
        asyncio.run(scenario(world))


def test_the_owner_of_the_machine_finds_a_token_in_a_file_that_only_they_can_read(tmp_path: Path) -> None:
    tokens = Tokens(Store())
    secret = local_token(tmp_path, tokens, 1)
    assert (tmp_path / "token").read_text().strip() == secret
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    assert local_token(tmp_path, tokens, 2) == secret
    assert len(tokens.all()) == 1
    tokens.revoke(tokens.all()[0].id, 3)
    assert local_token(tmp_path, tokens, 4) != secret
