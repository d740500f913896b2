"""Two runs of a framework's ways, the second with a provider that refuses, and what they gave."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from nbckpt.testing import Provider
from tests.llm.frameworks.answers import says
from tests.running import SOURCE, environment

QUIET = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "AGNO_TELEMETRY": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "LANGSMITH_TRACING": "false",
}
"""No network is asked for prices or told of a run: the hosts would not answer here."""


class Replay(NamedTuple):
    """What came of one way.

    Attributes
    ----------
    recorded
        Number of requests that the first run sent.
    sent
        Number of those that the second one sent.
    problem
        Why it counts as failed; empty if it does not.
    limit
        Why it may ask anew; empty if it may not.
    """

    way: str
    recorded: int
    sent: int
    problem: str
    limit: str


def replays(python: Path, framework: str, folder: Path) -> list[Replay]:
    """The ways of a framework, run and run again in new processes on one store."""
    with Provider(answer=says) as provider:
        first = run(python, framework, folder, "first", provider)
        recorded = len(provider.requests)
        provider.fail(None, status=400, retry_after=None)
        again = run(python, framework, folder, "again", provider)
        asked = provider.requests[recorded:]
        (folder / "sent.json").write_text(json.dumps([each.body for each in asked], default=str))
    return [replay_of(way, first[way], again[way]) for way in first]


def run(python: Path, framework: str, folder: Path, name: str, provider: Provider) -> Any:
    """What each way gave in one run."""
    module = ("-m", "tests.llm.frameworks.cells", framework, folder, name)
    variables = {**environment(), **provider.environment(), **QUIET, "PROVIDER": provider.url}
    log = folder / f"{name}.log"
    with log.open("w") as file:  # a pipe would be open as long as a worker that outlives the kill
        command = [python, *module]
        subprocess.run(
            command, stdout=file, stderr=file, cwd=SOURCE, env={**variables, "HOME": str(folder)}
        )
    told = folder / f"{name}.json"
    assert told.exists(), log.read_text()[-6000:]
    return json.loads(told.read_text())["ways"]


def replay_of(way: str, first: dict[str, Any], again: dict[str, Any]) -> Replay:
    """How a way's second run went, compared with its first."""
    problem = first["error"] or again["error"]
    if not problem and not first["sent"]:
        problem = "the first run sent nothing"
    if not problem and again["sent"]:
        problem = f"{again['sent']} requests were sent again"
    if not problem and first["answer"] != again["answer"]:
        problem = f"{first['answer']!r} came back as {again['answer']!r}"
    limit = first["limit"]
    known = bool(limit) and not first["error"]
    return Replay(way, first["sent"], again["sent"], "" if known else problem, limit)
