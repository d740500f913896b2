"""dspy, on litellm; its own cache is off, since it would answer before nbckpt does."""

from __future__ import annotations

import asyncio
from typing import Any

import dspy

from tests.llm.frameworks.ways import CITIES, way, weather

dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)


def asked() -> Any:
    return dspy.context(lm=dspy.LM("openai/m"))


@way
def predict() -> str:
    with asked():
        return str(dspy.Predict("question -> answer")(question="hi").answer)


@way
def chain_of_thought() -> list[str]:
    with asked():
        made = dspy.ChainOfThought("question -> answer, score: int")(question="hi")
        return [made.reasoning, made.answer, str(made.score)]


@way
def json_adapter() -> str:
    with dspy.context(lm=dspy.LM("openai/m"), adapter=dspy.JSONAdapter()):
        return str(dspy.Predict("question -> answer")(question="hi").answer)


@way
async def predict_async() -> list[str]:
    with asked():
        predict = dspy.Predict("question -> answer")
        made = await asyncio.gather(*[predict.acall(question=f"hi {n}") for n in range(5)])
        return [one.answer for one in made]


@way
def react() -> list[str]:
    with asked():
        made = dspy.ReAct("question -> answer", tools=[weather])(question=CITIES)
        return [str(made.answer), *map(str, made.trajectory.values())]


@way
def parallel() -> list[str]:
    with asked():
        predict = dspy.Predict("question -> answer")
        pairs = [(predict, {"question": f"hi {n}"}) for n in range(8)]
        return [one.answer for one in dspy.Parallel(num_threads=4)(pairs)]


@way
def samples() -> list[str]:
    with asked():
        module = dspy.Predict("question -> answer")
        best = dspy.BestOfN(module, N=3, reward_fn=lambda _, made: len(made.answer), threshold=1000)
        return [best(question="hi").answer]


@way
def optimized() -> list[str]:
    examples = [
        dspy.Example(question=f"q {n}", answer="word").with_inputs("question") for n in range(6)
    ]
    with asked():
        tuned = dspy.BootstrapFewShotWithRandomSearch(
            metric=lambda example, made, trace=None: made.answer.startswith("word"),
            max_bootstrapped_demos=2, num_candidate_programs=2, num_threads=2,
        ).compile(dspy.Predict("question -> answer"), trainset=examples)  # fmt: skip
        return [tuned(question="hi").answer, str(len(tuned.demos))]


@way
def embeddings() -> list[float]:
    embed = dspy.Embedder("openai/m", caching=False)
    return [float(number) for number in embed(["a"])[0]]


@way
def stream() -> list[str]:
    async def collected() -> list[str]:
        with asked():
            program = dspy.streamify(dspy.Predict("question -> answer"))
            return [type(part).__name__ async for part in program(question="hi")]

    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor() as pool:
        return pool.submit(asyncio.run, collected()).result()
