"""Spans and metrics, as OpenTelemetry's own SDK collects them in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nbckpt.runtime import telemetry
from nbckpt.testing import Provider
from tests.running import environment

COLLECTING = """
import json, os, sys
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
tracing = TracerProvider()
tracing.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(tracing)
metrics.set_meter_provider(MeterProvider([reader]))

def collected():
    found = {}
    data = reader.get_metrics_data()
    for scope in data.resource_metrics[0].scope_metrics if data else ():
        for metric in scope.metrics:
            found[metric.name] = [
                {"unit": metric.unit, "value": getattr(p, "value", getattr(p, "sum", None)),
                 **{k: v for k, v in p.attributes.items()}}
                for p in metric.data.data_points
            ]
    told = [
        {"name": s.name, "kind": s.kind.name, "status": s.status.status_code.name,
         "parent": s.parent and s.parent.span_id, "id": s.context.span_id,
         "took_s": (s.end_time - s.start_time) / 1e9, **s.attributes}
        for s in spans.get_finished_spans()
    ]
    print(json.dumps({"spans": told, "metrics": found}))
"""

WORK = """
import nbckpt
namespace = {"x": list(range(20_000))}
session = nbckpt.open(sys.argv[1], namespace)
with trace.get_tracer("mine").start_as_current_span("outer"):
    session.checkpoint("a")
    namespace["x"] = 2
    session.checkpoint("b")
    session.wait()
    session.rewind("a")
    session.wait()
"""

CALLS = """
import nbckpt, openai
session = nbckpt.open(sys.argv[1], globals())
client = openai.OpenAI(base_url=sys.argv[2] + "/v1", api_key="sk-5b1e0a2f77d94c", max_retries=0)

def ask(text, **more):
    said = [{"role": "user", "content": text}]
    return client.chat.completions.create(model="m", messages=said, **more)

for _ in range(2):
    with nbckpt.checkpoint("ask", vars=[]) as step:
        ask("one thing that nobody may read")
        ask("one thing that nobody may read")
with nbckpt.checkpoint("refused", vars=[]) as step:
    try:
        ask("[status=429]")
    except openai.OpenAIError:
        pass
    try:
        list(ask("[cut=2] one two three four", stream=True))
    except Exception:
        pass
session.wait()
"""


def collected(work: str, folder: Path, *arguments: str, **more: str) -> Any:
    """What a process collected that worked on a store in `folder`."""
    script = folder / "work.py"
    script.write_text(f"{COLLECTING}\n{work}\ncollected()")
    done = subprocess.run(
        [sys.executable, script, folder / "s", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**environment(), **more},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_checkpoints_and_moves_are_spans_and_are_counted(tmp_path: Path) -> None:
    found = collected(WORK, tmp_path)

    spans, metrics = found["spans"], found["metrics"]
    outer = next(span["id"] for span in spans if span["name"] == "outer")
    own = [span for span in spans if span["name"].startswith("nbckpt.")]
    assert [(s["name"], s["nbckpt.checkpoint.name"]) for s in own] == [
        ("nbckpt.checkpoint", "a"), ("nbckpt.checkpoint", "b"), ("nbckpt.restore", "a"),
    ]  # fmt: skip
    assert {span["parent"] for span in own} == {outer}
    assert all(0 < span["took_s"] < 60 for span in own)
    assert sum(point["value"] for point in metrics["nbckpt.checkpoints"]) == 2
    assert metrics["nbckpt.restores"] == [
        {"unit": "{restore}", "value": 1, "nbckpt.event": "rewound", "nbckpt.outcome": "done"}
    ]
    assert metrics["nbckpt.checkpoint.size"][0]["value"] > 10_000
    assert metrics["nbckpt.restore.size"][0]["value"] > 10_000
    assert metrics["nbckpt.checkpoint.duration"][0]["unit"] == "s"
    assert metrics["nbckpt.unwritten"] == [{"unit": "By", "value": 0}]


@pytest.mark.slow
def test_a_model_call_is_told_under_the_names_of_the_conventions(tmp_path: Path) -> None:
    with Provider() as provider:
        found = collected(CALLS, tmp_path, provider.url)

    first, second, failed, cut = [span for span in found["spans"] if span["name"] == "chat m"]
    assert second["status"] == "UNSET"
    assert (failed["status"], failed["error.type"]) == ("ERROR", "429")
    assert (first["kind"], first["gen_ai.operation.name"]) == ("CLIENT", "chat")
    assert (first["gen_ai.provider.name"], first["gen_ai.request.model"]) == ("openai", "m")
    assert first["gen_ai.response.model"] == "m"
    assert first["server.address"] == "127.0.0.1"
    assert first["gen_ai.usage.input_tokens"] > 0
    assert (cut["status"], cut["error.type"]) == ("ERROR", "RemoteProtocolError")
    tokens = found["metrics"]["gen_ai.client.token.usage"]
    assert {point["gen_ai.token.type"] for point in tokens} == {"input", "output"}
    assert found["metrics"]["gen_ai.client.operation.duration"][0]["unit"] == "s"
    assert sum(p["value"] for p in found["metrics"]["nbckpt.replays"]) == 2
    assert "nobody may read" not in json.dumps(found)
    assert "sk-5b1e" not in json.dumps(found)


@pytest.mark.slow
def test_telemetry_can_be_turned_off(tmp_path: Path) -> None:
    found = collected(WORK, tmp_path, NBCKPT_TELEMETRY="off")

    assert [span["name"] for span in found["spans"]] == ["outer"]
    assert not any(name.startswith("nbckpt") for name in found["metrics"])


@pytest.mark.slow
def test_nothing_is_imported_to_find_out_whether_anybody_wants_it(tmp_path: Path) -> None:
    code = (
        f"import sys, nbckpt\nx = 1\ns = nbckpt.open({str(tmp_path / 's')!r}, globals())\n"
        "s.checkpoint('a')\ns.wait()\n"
        "print([n for n in sys.modules if n.startswith('opentelemetry')])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment()
    )

    assert done.stdout.split() == ["[]"]


def test_an_exporter_that_raises_costs_the_telemetry_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(telemetry._State, "choice", "auto")

    with telemetry.harmless():
        raise RuntimeError

    assert telemetry.watching() is None
