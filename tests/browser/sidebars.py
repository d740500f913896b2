"""The side panel of an application."""

from __future__ import annotations

from playwright.sync_api import Locator, Page

from tests.browser.parts import Parts

PANEL = "nbckpt-checkpoints"


class Sidebar(Parts):
    """The panel; closed until it is opened."""

    def __init__(self, page: Page) -> None:
        self._page = page

    @property
    def node(self) -> Locator:
        """The panel, with all that is in it."""
        return self._page.locator(".nbckpt-Panel")

    @property
    def root(self) -> Locator:
        """The timeline in it."""
        return self.node.locator(".nbckpt-Timeline-root")

    @property
    def plight(self) -> Locator:
        """What it says where there is no timeline."""
        return self.node.locator(".nbckpt-Timeline-plight")

    @property
    def title(self) -> Locator:
        """The name of the notebook that it shows."""
        return self.node.locator(".nbckpt-Timeline-sideName")

    def open(self) -> None:
        """Have it shown."""
        self._page.evaluate("id => window.jupyterapp.shell.activateById(id)", PANEL)
        self.node.wait_for()

    def clear_filter(self) -> None:
        """Have it show all checkpoints again, if it shows those that match a filter."""
        field = self.root.locator("input[name=filter]")
        if field.count() and field.input_value():
            field.fill("")

    @property
    def ended(self) -> Locator:
        """What it says of a kernel that is gone."""
        return self.node.locator(".nbckpt-Timeline-ended")

    @property
    def anew(self) -> Locator:
        """The button that enables nbckpt in a new kernel, and brings nothing back."""
        return self.ended.get_by_role("button", name="Begin anew")

    def remedy(self, name: str) -> Locator:
        """The button that it offers: `enable`, `choose-kernel`, `interrupt`, …."""
        return self.node.locator(f'button[data-remedy="{name}"]')

    def enable(self) -> None:
        """Load nbckpt into the notebook's kernel by its button."""
        (self.remedy("enable").or_(self.anew)).click()
        self.root.wait_for()
