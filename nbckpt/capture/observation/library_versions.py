"""Versions of the libraries that a cell uses: another version may do something else."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import cache

from nbckpt.fingerprint.values.homes import module_of
from nbckpt.runtime.user_code_errors import user_code_errors

_DISTRIBUTIONS = {
    "sklearn": "scikit-learn",
    "PIL": "pillow",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "skimage": "scikit-image",
    "yaml": "PyYAML",
    "mpl_toolkits": "matplotlib",
    "osgeo": "GDAL",
    "Bio": "biopython",
}
"""Packages whose distribution has another name; of others it is the package's."""

_NOT_COUNTED = frozenset({"__main__", "nbckpt", "IPython", "builtins", "ipykernel"})


def versions_of(
    names: Iterable[str], imports: Iterable[str], namespace: Mapping[str, object]
) -> dict[str, str]:
    """Package → version, of the packages that variables or imports lead to."""
    packages = {_package_of(namespace[name]) for name in names if name in namespace}
    packages.update(name.partition(".")[0] for name in imports)
    found = {package: version_of(package) for package in packages if _counts(package)}
    return {package: version for package, version in sorted(found.items()) if version}


def version_of(package: str) -> str:
    """The version of a package as it was when it was asked for first; empty if it has none."""
    return _version_of(package)


@cache
def _version_of(package: str) -> str:
    from importlib import metadata  # it brings along a lot, and many cells use no library

    try:
        return metadata.version(_DISTRIBUTIONS.get(package, package))
    except user_code_errors():  # none has this name, or what its metadata hold cannot be read
        return ""


def _counts(package: str) -> bool:
    return bool(package) and package not in sys.stdlib_module_names | _NOT_COUNTED


def _package_of(value: object) -> str:
    kind = type(value)
    name = vars(value).get("__name__") if kind.__name__ == "module" else None
    if name is None:
        name = module_of(value)
        if name in ("builtins", "functools") and not issubclass(kind, type):
            name = getattr(value, "__module__", None)
    return name.partition(".")[0] if isinstance(name, str) else ""
