"""The head of the audit, noted elsewhere, shows what a user who can write the database cannot hide."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import create_engine, text

from muster.model.audit import AuditEntry
from muster.store.sql import open_store
from tests.api.world import World, played, submitted


def _whole(answer: httpx.Response) -> bool:
    assert answer.status_code == 200, answer.text
    return bool(answer.json()["whole"])


def test_the_audit_still_leads_to_where_it_was_noted_to_end(tmp_path: Path) -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await submitted(client, held=True)
        noted = (await client.get("/v1/audit/head")).json()
        assert set(noted) == {"seq", "chain"}
        await submitted(client, held=True)
        later = (await client.get("/v1/audit/head")).json()
        assert later["seq"] == noted["seq"] + 1
        empty: dict[str, Any] = {"seq": 0, "chain": "00" * 32}
        for head in (noted, later, empty):
            assert _whole(await client.get("/v1/audit/verify", params=head))
        wrong: list[dict[str, Any]] = [{**noted, "chain": later["chain"]}, {**later, "seq": later["seq"] + 1}]
        for head in wrong:
            answer = await client.get("/v1/audit/verify", params=head)
            assert not _whole(answer)
            assert f"audit entry {head['seq']} is not" in answer.json()["problems"][0]

    played(scenario, who="operator", home=tmp_path)


@pytest.mark.parametrize(
    "params", [{"seq": 1}, {"chain": "00" * 32}, {"seq": -1, "chain": "00"}, {"seq": 1, "chain": "Z"}]
)
def test_half_a_head_is_refused(params: dict[str, str]) -> None:
    async def scenario(_: World, client: httpx.AsyncClient) -> None:
        assert (await client.get("/v1/audit/verify", params=params)).status_code == 422

    played(scenario, who="operator")


def test_an_audit_that_was_made_anew_fits_together_and_not_to_what_was_noted(tmp_path: Path) -> None:
    """As by a user who may write the database: all entries again, with another name, each chained to the last."""
    url = f"sqlite:///{tmp_path / 'muster.db'}"
    entries = [AuditEntry(at_ms=at, by="mallory", action="jobs.cancel", subject=f"job-{at}") for at in range(3)]
    with open_store(url, write=True) as store:
        store.log.append([], 0, audit=entries)
        noted = store.audit.head()
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM audit"))
        connection.execute(text("UPDATE head SET audit_seq = 0, audit_chain = :chain"), {"chain": bytes(32)})
    engine.dispose()
    with open_store(url, write=True) as store:
        store.log.append([], 0, audit=[AuditEntry(at_ms=1, by="ada", action="jobs.cancel", subject="job-1")] * 4)
        assert store.audit.verify().is_whole
        assert store.audit.chain_at(noted.seq) != noted.chain
