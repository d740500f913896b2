"""The side panel as a user drives it, beside a notebook whose kernel is at rest."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest
from playwright.sync_api import expect

from tests.browser.notebooks import Notebook
from tests.browser.sidebars import Sidebar

CELLS = (
    "%%checkpoint start --tag raw\nx = 1",
    "%%checkpoint twice --note 'of the first'\ny = x * 2",
    "%%checkpoint total\nz = x + y\nprint('total', z)",
)
STYLES = Path(__file__).parent.parent.parent / "labextension" / "style"
REWINDS = """async ([names, count]) => {
  const panel = document.querySelector('.nbckpt-Panel');
  const find = (part, name) => [...panel.querySelectorAll(`.nbckpt-Timeline-${part}`)]
    .find(each => !name || each.dataset.name === name);
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  const took = [];
  for (let n = 0; n < count; n++) {
    const row = find('row', names[n % names.length]);
    row.dispatchEvent(new MouseEvent('click', { bubbles: true }));
    await new Promise(done => setTimeout(done, 150));
    const reply = new Promise(done => {
      const hear = (_, { msg, direction }) => {
        if (direction === 'recv' && msg.header.msg_type === 'execute_reply') {
          kernel.anyMessage.disconnect(hear);
          done(performance.now());
        }
      };
      kernel.anyMessage.connect(hear);
    });
    const began = performance.now();
    find('rewind').click();
    took.push(await reply - began);
    await new Promise(done => setTimeout(done, 150));
  }
  return took;
}"""


@pytest.fixture
def sidebar(notebook: Notebook, variables_only: None) -> Sidebar:
    notebook.load(*CELLS)
    notebook.sidebar.open()
    expect(notebook.sidebar.row("total")).to_be_visible()
    return notebook.sidebar


@pytest.mark.slow
def test_the_panel_shows_the_checkpoints_of_the_notebook(sidebar: Sidebar) -> None:
    assert sidebar.names() == ["total", "twice", "start"]
    expect(sidebar.here).to_have_attribute("data-name", "total")
    expect(sidebar.title).to_have_text("history.ipynb")
    assert sidebar.node.get_attribute("role") == "region"
    assert sidebar.part("list").get_attribute("role") == "listbox"


@pytest.mark.slow
def test_details_in_the_panel(sidebar: Sidebar) -> None:
    sidebar.row("total").click()

    details = sidebar.part("details")
    expect(details).to_contain_text("z = x + y")
    expect(details).to_contain_text("total 3")
    expect(details).to_contain_text("int")


lab_only = pytest.mark.parametrize("application", ["lab"], indirect=True)


@pytest.mark.slow
@lab_only
def test_rewind_in_the_panel(notebook: Notebook, sidebar: Sidebar) -> None:
    sidebar.row("start").click()
    sidebar.verb("rewind").click()

    expect(sidebar.here).to_have_attribute("data-name", "start")
    assert notebook.printed("x, 'y' in globals()") == "1 False"
    expect(sidebar.part("goBack")).to_be_visible()
    notebook.execute("%rewind -")  # so there is nothing to go back from
    expect(sidebar.here).to_have_attribute("data-name", "total")
    expect(sidebar.part("goBack")).to_have_count(0)


@pytest.mark.slow
@lab_only
def test_fork_tag_note_and_compare_in_the_panel(notebook: Notebook, sidebar: Sidebar) -> None:
    sidebar.row("twice").click()
    sidebar.verb("tag").click()
    sidebar.root.locator("input[name=tag]").fill("good")
    sidebar.part("submit").click()
    expect(sidebar.row("twice")).to_contain_text("#good")
    sidebar.verb("note").click()
    sidebar.root.locator("input[name=note]").fill("the better one")
    sidebar.part("submit").click()
    expect(sidebar.row("twice")).to_contain_text("the better one")

    sidebar.verb("fork").click()
    sidebar.root.locator("input[name=branch]").fill("try")
    sidebar.root.locator("input[name=variable]").fill("y")
    sidebar.root.locator("input[name=expression]").fill("y + 40")
    sidebar.part("submit").click()
    expect(sidebar.part("branchName")).to_have_text("try")
    assert notebook.printed("y, 'z' in globals()") == "42 False"

    sidebar.row("start").click()
    sidebar.row("total").click(modifiers=["Shift"])
    expect(sidebar.part("comparison")).to_contain_text("z")


@pytest.mark.slow
@lab_only
def test_checkpoints_are_found_by_name_variable_tag_and_branch(
    notebook: Notebook, sidebar: Sidebar
) -> None:
    notebook.execute("%fork start other\nw = 1\n%checkpoint aside")
    expect(sidebar.row("aside")).to_be_visible()
    query = sidebar.root.locator("input[name=filter]")

    for text, names in (
        ("twi", ["twice"]),
        ("var:z", ["total"]),
        ("#raw", ["start"]),
        ("branch:other", ["aside"]),
        ("tw #raw", []),
    ):
        query.fill(text)
        expect(sidebar.part("row")).to_have_count(len(names))
        assert sidebar.names() == names
    query.fill("")


@pytest.mark.slow
@lab_only
def test_a_rewind_takes_less_than_300_ms(notebook: Notebook, sidebar: Sidebar) -> None:
    took = notebook.page.evaluate(REWINDS, [["start", "total"], 10])

    print(f"click to rewound: median {median(took):.0f} ms of {sorted(map(round, took))}")
    assert median(took) < 300
    expect(sidebar.part("notice")).to_contain_text("rewound")


@pytest.mark.slow
@lab_only
def test_what_a_user_typed_is_text(notebook: Notebook) -> None:
    attack = "<img src=x onerror='window.stolen = 1'><script>window.stolen = 2</script>"
    notebook.load(
        f'%%checkpoint evil --note "{attack}"\n'
        f"from IPython.display import HTML\nx = {{{attack!r}: {attack!r}}}\nprint({attack!r})\nx",
        f"import nbckpt\n_ = nbckpt.get('evil')\n%checkpoint {attack.split(maxsplit=1)[0]}",
    )
    sidebar = notebook.sidebar
    sidebar.open()

    sidebar.row("evil").click()

    expect(sidebar.part("details")).to_contain_text("<script>window.stolen = 2</script>")
    expect(sidebar.row("evil")).to_contain_text("<img")
    assert sidebar.node.locator("script, img[src=x]").count() == 0
    assert notebook.page.evaluate("window.stolen") is None


@lab_only
def test_the_panel_by_its_keys(notebook: Notebook, sidebar: Sidebar) -> None:
    keys = notebook.page.keyboard

    sidebar.part("list").focus()
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    keys.press("f")
    expect(sidebar.root.locator("input[name=branch]")).to_be_focused()
    keys.press("Escape")
    expect(sidebar.part("list")).to_be_focused()
    keys.press("t")
    expect(sidebar.root.locator("input[name=tag]")).to_be_focused()
    keys.press("Escape")
    keys.press("/")
    expect(sidebar.root.locator("input[name=filter]")).to_be_focused()
    keys.press("Shift+Tab")

    active = sidebar.part("list").get_attribute("aria-activedescendant")
    assert active
    assert re.match(
        r"start, done", str(notebook.page.locator(f"#{active}").get_attribute("aria-label"))
    )


@pytest.mark.slow
@lab_only
def test_the_panel_takes_the_colours_of_the_theme(
    notebook: Notebook, sidebar: Sidebar, pictures: Callable[[str], Path]
) -> None:
    sidebar.row("total").click()
    expect(sidebar.part("details")).to_be_visible()
    look = "e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]"
    looks = {}
    for theme in ("Dark", "Light"):
        notebook.theme(theme)
        notebook.page.locator("#jupyterlab-splash").wait_for(state="detached")
        notebook.page.screenshot(path=pictures(f"sidebar-{theme.lower()}"))
        looks[theme] = [
            sidebar.node.evaluate(look),
            sidebar.root.evaluate(look),
            sidebar.part("fork").evaluate(look),
        ]

    for dark, light in zip(looks["Dark"], looks["Light"], strict=True):
        assert dark[0] != light[0]
        assert dark[1] != light[1]


@pytest.mark.slow
def test_no_colour_of_the_panel_is_its_own() -> None:
    for sheet in STYLES.glob("*.css"):
        text = re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL)

        assert re.findall(r"#[0-9a-f]{3,8}\b|\b(?:rgb|hsl)a?\(", text) == [], sheet.name
