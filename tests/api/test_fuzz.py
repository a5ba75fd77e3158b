"""Every operation with generated requests, right and wrong: no answer that the document does not promise."""

import asyncio
import sys
from pathlib import Path

from muster.api.deps import Settings
from muster.model.scenario import Rules
from tests.api.listening import caller, listening
from tests.api.world import DEADLINE_S, RULES, World, a_world, eventually, submitted
from tests.builders import a_team

SEED = 1
EXAMPLES = 6
"""Per operation and phase, so that it takes half a minute."""

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "missing_required_header",
    "unsupported_method",
    "allow_header_conformance",
    "use_after_free",
    "ensure_resource_availability",
    "ignored_auth",
)
"""All but that whatever fits the schema is accepted: a job file must also fit the cluster, and a quota its team."""

SETTINGS = Settings(stream_s=0.01, requests_at_once=1_000_000, strangers_at_once=1_000_000)
"""A caller that tries everything asks often, and without a token too."""
TEAMS = Rules(teams=(*RULES.teams, a_team("nlp/pretraining")))


async def _inhabited(world: World, url: str) -> None:
    """Have what the examples in the document speak of: job-7 with a log."""
    async with caller(world, url, "admin") as admin:
        jobs = [await submitted(admin, gpus=1, interactive={}) for _ in range(7)]
        for job in jobs:
            world.logs.print(b"hello\n", job=job, is_last=True)

        async def has_begun() -> bool:
            return bool((await admin.get(f"/v1/jobs/{jobs[-1]}")).json()["attempt"])

        await asyncio.wait_for(eventually(has_begun), DEADLINE_S)


async def _fuzzed(world: World, report: Path) -> tuple[int, str]:
    async with listening(world) as url:
        await _inhabited(world, url)
        command = "from schemathesis.cli import schemathesis; schemathesis()"
        fuzzing = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", command, "run", f"{url}/openapi.json", "--no-color"),
            *("--phases", "examples,coverage,fuzzing,stateful", "--checks", ",".join(CHECKS)),
            *("--max-examples", str(EXAMPLES), "--seed", str(SEED), "--generation-database", "none"),
            *("--header", "Via: 1.1 somewhere"),  # so that no caller on this machine asks for figures
            *("--header", f"Authorization: Bearer {world.secrets['admin']}"),
            cwd=report,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await fuzzing.communicate()
        return fuzzing.returncode or 0, said.decode()


def test_generated_requests_get_only_answers_that_the_document_promises(tmp_path: Path) -> None:
    with a_world(settings=SETTINGS, rules=TEAMS, home=tmp_path) as world:
        status, said = asyncio.run(_fuzzed(world, tmp_path))
        assert status == 0, said[-8_000:]
        for phase in ("Examples", "Coverage", "Fuzzing", "Stateful"):
            assert f"✅ {phase}" in said
        assert not world.control.has_stopped
