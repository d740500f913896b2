"""A session as people have them: killed in a loop of model calls, at its end after two clicks."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.applications import Application
from tests.browser.dying import Dying

pytestmark = pytest.mark.parametrize("application", ["lab"], indirect=True)

N_DOCUMENTS = 8
DID = "open('did', 'a').write('{} ')"
CELLS = (
    "%load_ext nbckpt",
    "import os, time\nimport numpy as np\nimport pandas as pd\nimport matplotlib.pyplot as plt",
    "open('pid', 'w').write(str(os.getpid())) and None",
    "from nbckpt.testing import Provider\nprovider = Provider(port=PORT).start()",
    "os.environ.update(provider.environment())",
    "import openai\nclient = openai.OpenAI()",
    f"%%checkpoint load\n{DID.format('load')}\nrng = np.random.default_rng(0)\n"
    "df = pd.DataFrame({'x': rng.normal(size=5000), 'g': rng.integers(0, 5, 5000)})",
    "df.head()",
    "df.describe()",
    f"%%checkpoint clean\n{DID.format('clean')}\ndf['y'] = df.x * 2 + rng.normal(size=5000)",
    "means = df.groupby('g').y.mean()\nmeans",
    "fig, ax = plt.subplots()\nmeans.plot.bar(ax=ax)\nplt.show()",
    f"%%checkpoint split\n{DID.format('split')}\nfrom sklearn.model_selection import "
    "train_test_split\na, b = train_test_split(df, random_state=0)",
    "a.shape, b.shape",
    f"%%checkpoint fit\n{DID.format('fit')}\nfrom sklearn.linear_model import LinearRegression\n"
    "model = LinearRegression().fit(a[['x']], a.y)",
    "score = model.score(b[['x']], b.y)\nround(score, 2)",
    "plt.scatter(b.x, b.y, s=1)\nplt.plot(b.x, model.predict(b[['x']]))\nplt.show()",
    f"documents = [f'group {{g}}: {{m:.2f}}' for g, m in means.items()][:5] * 2\n"
    f"documents = documents[:{N_DOCUMENTS}]",
    "def ask(text):\n"
    "    said = client.chat.completions.create(\n"
    "        model='gpt-4.1-mini', messages=[{'role': 'user', 'content': text}])\n"
    "    return said.choices[0].message.content",
    "summaries = []",
    "import nbckpt\nwith nbckpt.checkpoint('summaries') as step:\n"
    "    for text in step.track(documents):\n"
    "        open('did', 'a').write(f'ask{len(summaries)} ')\n"
    "        summaries.append(ask(f'{len(summaries)}: {text}'))\n"
    "        time.sleep(float(open(os.getcwd() + '-pace').read()))",
    "len(summaries), summaries[0][:20]",
    f"%%checkpoint report\n{DID.format('report')}\n"
    "report = pd.DataFrame({'document': documents, 'summary': summaries})",
    "report.head()",
    "print('report of', len(report), os.environ['OPENAI_API_KEY'], ask('the end') != '')\n"
    "print('paid', provider.answered)",
)


@pytest.fixture
def dying(application: Application, context: BrowserContext) -> Iterator[Dying]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    cells = [cell.replace("PORT", str(port)) for cell in CELLS]
    dying = Dying(application, context, cells)
    dying.sidebar.open()
    yield dying
    dying.close()


def test_two_clicks_lead_from_the_death_to_the_end(
    dying: Dying, pictures: Callable[[str], Path]
) -> None:
    dying.pace(0.5)
    dying.run_all()
    dying.wait(lambda: dying.did()["ask3"] == 1, 120)
    dying.kill()
    dying.pace(0)
    card = dying.sidebar.node.locator(".nbckpt-Timeline-ended")
    expect(card).to_contain_text("The kernel died", timeout=30_000)
    expect(card).to_contain_text(f"of {N_DOCUMENTS}")

    card.get_by_role("button", name="Resume and run the rest").click(timeout=60_000)
    expect(dying.dialog).to_contain_text("provider")
    dying.page.wait_for_timeout(500)
    dying.page.screenshot(path=pictures("realistic-dialog"))
    dying.dialog.locator(".jp-mod-accept").last.click()

    dying.last.get_by_text(f"report of {N_DOCUMENTS} offline True").wait_for(timeout=120_000)
    did = dying.did()
    dying.page.screenshot(path=pictures("realistic-end"))
    finished = ["load", "clean", "split", "fit", "report"]
    assert {part: did[part] for part in finished} == dict.fromkeys(finished, 1)
    # An item may run again that is quicker than to keep it, but no answer is paid twice. The server
    # is new: it counts the items from the one that was asked when it died, and the last cell.
    paid = int(dying.last.all_inner_texts()[-1].split()[-1])
    assert paid <= N_DOCUMENTS - 3 + 1
