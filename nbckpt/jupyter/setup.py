"""Statements that set up the process instead of making variables.

They leave nothing that a checkpoint could hold, so they run even when their cell is restored:
``warnings.filterwarnings("ignore")``, ``pd.set_option(…)``, ``%matplotlib inline``.
"""

from __future__ import annotations

import ast
import re

from IPython.core.inputtransformer2 import TransformerManager

_CALLS = re.compile(
    r"""(warnings\.(filterwarnings|simplefilter))
    | ((pd|pandas|pl|polars)\.(set_option|reset_option|Config\.\w+))
    | ((np|numpy)\.(set_printoptions|seterr))
    | ((mpl|matplotlib)\.(use|rc)) | (plt\.(style\.use|ion|ioff|rc|switch_backend))
    | ((mpl|matplotlib|plt)\.rcParams\.update)
    | ((sns|seaborn)\.(set|set_theme|set_style|set_context|set_palette))
    | (logging\.(basicConfig|disable)) | (\w+\.setLevel)
    | (sys\.path\.(append|insert|extend)) | (os\.(chdir|environ\.(setdefault|update)|putenv))
    | (torch\.(set_\w+|use_deterministic_algorithms)) | (nest_asyncio\.apply)
    | ((dotenv\.)?load_dotenv) | (locale\.setlocale) | (decimal\.setcontext)""",
    re.VERBOSE,
)

_TARGETS = re.compile(
    r"(os\.environ\[.*\])|((mpl|matplotlib|plt)\.rcParams\[.*\])|((pd|pandas)\.options\..*)"
)

_MAGICS = frozenset(
    {"matplotlib", "pylab", "config", "load_ext", "reload_ext", "autoreload", "env", "set_env",
     "cd", "gui", "precision", "colors", "xmode", "pdb", "alias", "aimport"}
)  # fmt: skip


def setup_statements(tree: ast.Module) -> list[ast.stmt]:
    """The statements of a cell that set up the process, and the imports that they need."""
    found = [s for s in tree.body if _sets_up(s)]
    if not found:
        return []
    needed = {n.id for s in found for n in ast.walk(s) if isinstance(n, ast.Name)}
    return [s for s in tree.body if s in found or _imports_any(s, needed)]


def is_setup(source: str) -> bool:
    """Whether a cell does nothing but set up the process, and import what it needs for that."""
    try:
        tree = ast.parse(TransformerManager().transform_cell(source))
    except (SyntaxError, ValueError):
        return False
    rest = [s for s in tree.body if not isinstance(s, ast.Import | ast.ImportFrom | ast.Pass)]
    return bool(rest) and all(_sets_up(s) for s in rest)


def _sets_up(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If | ast.For | ast.With | ast.Try):
        return _only_sets_up(statement)
    if isinstance(statement, ast.Assign):
        return all(_TARGETS.fullmatch(ast.unparse(t)) for t in statement.targets)
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    call = statement.value
    function = ast.unparse(call.func)
    if function == "get_ipython().run_line_magic":
        name = call.args[0]
        return isinstance(name, ast.Constant) and name.value in _MAGICS
    return _CALLS.fullmatch(function) is not None


def _only_sets_up(statement: ast.If | ast.For | ast.With | ast.Try) -> bool:
    """Whether nothing but such statements, and imports for them, is inside."""
    inside = [s for block in _blocks(statement) for s in block]
    rest = [s for s in inside if not isinstance(s, ast.Import | ast.ImportFrom | ast.Pass)]
    return bool(rest) and all(_sets_up(s) for s in rest)


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    return [*blocks, *(handler.body for handler in getattr(statement, "handlers", ()))]


def _imports_any(statement: ast.stmt, names: set[str]) -> bool:
    if not isinstance(statement, ast.Import | ast.ImportFrom):
        return False
    bound = {(a.asname or a.name).split(".")[0] for a in statement.names}
    return not bound.isdisjoint(names)
