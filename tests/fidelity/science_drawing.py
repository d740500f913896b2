"""matplotlib, Pillow, networkx and sympy."""

from __future__ import annotations

from tests.fidelity.cases import Case

TITLE = "matplotlib, Pillow, networkx, sympy"

_MPL = "import numpy as np\nimport matplotlib\nmatplotlib.use('agg')\nimport matplotlib.pyplot as plt\n"

_FIGURES = {
    "a figure": (
        "x, axes = plt.subplots(2, 2, figsize=(4, 3))\naxes[0, 0].plot([1, 3, 2], label='a')\n"
        "axes[0, 0].legend()\naxes[0, 1].imshow(np.eye(5))\naxes[1, 0].bar([1, 2], [3, 4])\n"
        "axes[1, 1].scatter([1, 2], [3, 4], c=[5, 6])\nx.suptitle('title')\nplt.close(x)"
    ),
    "a figure with a colour bar and text": (
        "x = plt.figure(figsize=(3, 2))\nax = x.add_subplot()\nm = ax.pcolormesh(np.arange(12).reshape(3, 4))\n"
        "x.colorbar(m)\nax.annotate('here', (1, 1))\nax.set_yscale('log')\nplt.close(x)"
    ),
    "a figure in three dimensions": (
        "x = plt.figure(figsize=(3, 2))\nx.add_subplot(projection='3d').plot([1, 2], [3, 4], [5, 6])\n"
        "plt.close(x)"
    ),
}

_GRAPHS = {
    "Graph": "nx.karate_club_graph()",
    "DiGraph": "nx.DiGraph([(1, 2), ('a', (3, 4))], name='g')",
    "MultiDiGraph with attributes": (
        "nx.MultiDiGraph()\nx.add_edge(1, 2, key='k', weight=[1])\nx.add_edge(1, 2)\nx.nodes[1]['c'] = {2}"
    ),
}

_EXPRESSIONS = {
    "expressions": "[a ** 2 + sp.sin(b) / 3, sp.Integral(a, (a, 0, b)), sp.pi, sp.oo, sp.I]",
    "symbols with assumptions": "[sp.Symbol('n', integer=True, positive=True), sp.Symbol('n')]",
    "dummies": "(lambda d: [d, d + 1])(sp.Dummy('d'))",
    "functions": "[sp.Function('f')(a), sp.Lambda(a, a ** 2), sp.Piecewise((a, a > 0), (0, True))]",
    "matrices": "[sp.Matrix([[a, 1], [2, b]]), sp.eye(3), sp.ImmutableMatrix([[a]])]",
    "sets and relations": "[sp.Interval(0, 1), sp.Eq(a, b), sp.FiniteSet(1, a)]",
    "numbers": "[sp.Rational(1, 3), sp.Float('1.1', 40), sp.Integer(10) ** 50]",
    "polynomials": "[sp.Poly(a ** 2 + b, a, b)]",
}

_IMAGES = {
    mode: f"Image.new({mode!r}, (40, 30), {colour})"
    for mode, colour in (
        ("1", 1), ("L", 7), ("P", 3), ("RGB", (1, 2, 3)), ("RGBA", (1, 2, 3, 4)),
        ("CMYK", (1, 2, 3, 4)), ("I", 70000), ("F", 2.5), ("I;16", 700), ("HSV", (1, 2, 3)),
    )
}  # fmt: skip

CASES = (
    *(
        Case(f"matplotlib: {name}", _MPL + source, check="same(x, y)", needs="matplotlib")
        for name, source in _FIGURES.items()
    ),
    Case(
        "matplotlib: axes, and a line on them",
        _MPL + "fig, ax = plt.subplots()\nx = [ax, *ax.plot([1, 3, 2], 'r--', lw=3)]\nplt.close(fig)",
        check="assert x[1].axes is x[0] and x[0].figure is new['fig']\n"
        "same(x[1].get_xydata(), y[1].get_xydata())\nassert x[1].get_linestyle() == '--'\n"
        "same(x[0].figure, y[0].figure)",
        note="tied to their figure",
        needs="matplotlib",
    ),
    Case(
        "matplotlib: a figure that pyplot shows",
        _MPL + "x, ax = plt.subplots()\nax.plot([1, 2])",
        check="same(x, y)\nimport matplotlib.pyplot as plt\nplt.close('all')",
        told=None,
        needs="matplotlib",
    ),
    Case(
        "matplotlib: colour maps, norms, styles",
        _MPL + "from matplotlib import colors\n"
        "x = [plt.get_cmap('viridis'), colors.LogNorm(1, 9), colors.ListedColormap(['r', 'g'])]",
        check="for a, b in zip(x, y, strict=True):\n    assert type(a) is type(b)\n"
        "assert x[0] == y[0] and x[2] == y[2] and (x[1].vmin, x[1].vmax) == (1, 9)",
        needs="matplotlib",
    ),
    *(
        Case(f"networkx: {name}", f"import networkx as nx\nx = {source}", needs="networkx")
        for name, source in _GRAPHS.items()
    ),
    *(
        Case(f"sympy: {name}", f"import sympy as sp\na, b = sp.symbols('a b')\nx = {source}",
             check="import sympy\nsame(x, y)" if name != "dummies" else
             "assert x[1] - 1 == x[0] and x[0].name == y[0].name",
             needs="sympy")
        for name, source in _EXPRESSIONS.items()
    ),
    *(
        Case(f"image of mode {mode}", f"from PIL import Image\nx = {source}", needs="PIL",
             part_of="Pillow images of every mode")
        for mode, source in _IMAGES.items()
    ),
    Case(
        "Pillow: an image of a file",
        "from PIL import Image\nImage.new('RGB', (40, 30), (9, 8, 7)).save('a.png', dpi=(72, 72))\n"
        "x = Image.open('a.png')",
        check="assert x.size == y.size and x.mode == y.mode and x.info == y.info\n"
        "same(x.tobytes(), y.tobytes())",
        note="with its pixels, no longer on its file",
        needs="PIL",
    ),
    Case(
        "Pillow: a palette and transparency",
        "from PIL import Image\nx = Image.new('P', (4, 4), 2)\nx.putpalette(range(256))\n"
        "x.info['transparency'] = 2",
        needs="PIL",
    ),
)  # fmt: skip
