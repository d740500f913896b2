"""Options of libraries for numbers and tables. A library that is not loaded is not asked."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from nbckpt.capture.observation.process_state.kinds import Change, Kind


class NumpyErrors(Kind):
    """NumPy's handling of a division by zero, an overflow and the like."""

    name = "numpy"
    module = "numpy"
    setters = r"seterr\w*"

    def read(self, module: Any) -> dict[str, Any]:
        return {**module.geterr(), "errcall": module.geterrcall()}

    def defaults(self, module: Any) -> Mapping[str, Any]:  # noqa: ARG002
        warned = dict.fromkeys(("divide", "over", "invalid"), "warn")
        return {**warned, "under": "ignore", "errcall": None}

    def put(self, module: Any, change: Change) -> None:
        values = dict(change.values)
        if "errcall" in values:
            module.seterrcall(values.pop("errcall"))
        module.seterr(**values)


class NumpyPrinting(Kind):
    """NumPy's options for printing arrays."""

    name = "numpy printing"
    module = "numpy"
    reach = "text"
    setters = r"set_printoptions|precision"
    _DEFAULTS: Mapping[str, Any] = {
        "edgeitems": 3,
        "threshold": 1000,
        "floatmode": "maxprec",
        "precision": 8,
        "suppress": False,
        "linewidth": 75,
        "nanstr": "nan",
        "infstr": "inf",
        "sign": "-",
        "formatter": None,
        "legacy": False,
        "override_repr": None,
    }

    def read(self, module: Any) -> dict[str, Any]:
        found: dict[str, Any] = module.get_printoptions()
        return found

    def defaults(self, module: Any) -> Mapping[str, Any]:
        return {k: v for k, v in self._DEFAULTS.items() if k in module.get_printoptions()}

    def put(self, module: Any, change: Change) -> None:
        module.set_printoptions(**change.values)


class PandasOptions(Kind):
    """The options of pandas."""

    name = "pandas"
    module = "pandas"
    reach = "text"
    setters = r"set_option|reset_option|options|set_eng_float_format"

    def __init__(self) -> None:
        self._raw: dict[str, Any] = {}

    def read(self, module: Any) -> dict[str, Any]:
        options = module._config.config._global_config  # noqa: SLF001  # the public getter copies
        self._raw = _copied(options)
        return dict(_flat(self._raw))

    def is_same(self, module: Any, items: dict[str, Any]) -> bool:  # noqa: ARG002
        return bool(module._config.config._global_config == self._raw)  # noqa: SLF001

    def defaults(self, module: Any) -> Mapping[str, Any]:
        config = module._config.config  # noqa: SLF001
        registered = config._registered_options  # noqa: SLF001
        return {
            name: registered[name].defval if name in registered else value
            for name, value in _flat(config._global_config)  # noqa: SLF001
        }

    def put(self, module: Any, change: Change) -> None:
        for name, value in change.values.items():
            module.set_option(name, value)

    def reach_of(self, item: str) -> str:
        first = item.partition(".")[0]
        return {"display": "text", "styler": "text", "plotting": "drawing"}.get(first, "")


def _copied(options: Mapping[str, Any]) -> dict[str, Any]:
    return {k: _copied(v) if type(v) is dict else v for k, v in options.items()}


def _flat(options: Mapping[str, Any], prefix: str = "") -> Any:
    for name, value in options.items():
        if type(value) is dict:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


class PolarsOptions(Kind):
    """Options of polars that it keeps in its core; the others are in the environment."""

    name = "polars"
    module = "polars"
    reach = "text"
    setters = r"Config|set_\w+"

    def read(self, module: Any) -> dict[str, Any]:
        direct = module.config._POLARS_CFG_DIRECT_VARS  # noqa: SLF001
        return {name: get() for name, get in direct.items()}

    def defaults(self, module: Any) -> Mapping[str, Any] | None:
        known = {
            "set_fmt_float": "mixed",
            "set_float_precision": None,
            "set_thousands_separator": "",
            "set_decimal_separator": ".",
            "set_trim_decimal_zeros": False,
        }
        now = self.read(module)
        return {name: known.get(name, value) for name, value in now.items()}

    def put(self, module: Any, change: Change) -> None:
        for name, value in change.values.items():
            getattr(module.Config, name)(value)


class SklearnOptions(Kind):
    """The configuration of scikit-learn."""

    name = "sklearn"
    module = "sklearn"
    setters = "set_config"

    def read(self, module: Any) -> dict[str, Any]:
        found: dict[str, Any] = module.get_config()
        return found

    def defaults(self, module: Any) -> Mapping[str, Any]:
        return dict(module._config._global_config)  # noqa: SLF001

    def put(self, module: Any, change: Change) -> None:
        module.set_config(**change.values)

    def reach_of(self, item: str) -> str:
        return "text" if item in ("display", "print_changed_only") else ""


class MpmathPrecision(Kind):
    """The precision of mpmath."""

    name = "mpmath"
    module = "mpmath"
    setters = r"mp|dps|prec"

    def read(self, module: Any) -> dict[str, Any]:
        mp = module.mp
        return {"prec": mp.prec, "pretty": mp.pretty, "trap_complex": mp.trap_complex}

    def defaults(self, module: Any) -> Mapping[str, Any]:  # noqa: ARG002
        return {"prec": 53, "pretty": False, "trap_complex": False}

    def put(self, module: Any, change: Change) -> None:
        for name, value in change.values.items():
            setattr(module.mp, name, value)


class SympyPrinting(Kind):
    """Sympy's printing: the settings that `init_printing` gives to all printers."""

    name = "sympy printing"
    module = "sympy.printing.printer"
    setters = r"init_printing|init_session|pretty_use_unicode|set_global_settings"

    def read(self, module: Any) -> dict[str, Any]:
        symbols = sys.modules.get("sympy.printing.pretty.pretty_symbology")
        found = dict(module.Printer._global_settings)  # noqa: SLF001
        if symbols is not None:
            found["unicode symbols"] = getattr(symbols, "_use_unicode", False)
        return found

    def defaults(self, module: Any) -> Mapping[str, Any]:
        if "sympy.printing.pretty.pretty_symbology" not in sys.modules:
            return {}
        encoding = getattr(sys.stdout, "encoding", None)
        if encoding is None:  # it may be another stream by now
            return {"unicode symbols": self.read(module)["unicode symbols"]}
        return {"unicode symbols": encoding.lower().startswith("utf")}  # as sympy itself decides

    def put(self, module: Any, change: Change) -> None:
        settings = module.Printer._global_settings  # noqa: SLF001
        for name, value in change.values.items():
            if name == "unicode symbols":
                sys.modules["sympy.printing.pretty.pretty_symbology"].pretty_use_unicode(value)
            else:
                settings[name] = value
        for name in change.gone:
            settings.pop(name, None)


class JoblibSettings(Kind):
    """Joblib's default settings: number of processes, verbosity, memory mapping and others."""

    name = "joblib"
    module = "joblib.parallel"
    setters = r"parallel_config|parallel_backend"
    _ITEMS = ("n_jobs", "verbose", "temp_folder", "max_nbytes", "mmap_mode", "prefer", "require")

    def read(self, module: Any) -> dict[str, Any]:
        set_now = getattr(module._backend, "config", None) or {}  # noqa: SLF001
        default = module.default_parallel_config
        return {
            name: set_now[name]
            for name in self._ITEMS
            if name in set_now and set_now[name] is not default[name]
        }

    def defaults(self, module: Any) -> Mapping[str, Any]:  # noqa: ARG002
        return {}

    def put(self, module: Any, change: Change) -> None:
        own = module._backend  # noqa: SLF001
        now = {**(getattr(own, "config", None) or module.default_parallel_config)}
        default = module.default_parallel_config
        own.config = now | dict(change.values) | {name: default[name] for name in change.gone}


class TorchSettings(Kind):
    """Settings of torch, without its random generators."""

    name = "torch"
    module = "torch"
    setters = r"set_\w+|use_deterministic_algorithms|benchmark|deterministic|allow_tf32"
    _FLAGS = ("enabled", "benchmark", "deterministic", "allow_tf32")

    def read(self, module: Any) -> dict[str, Any]:
        found = {
            "default dtype": str(module.get_default_dtype()),
            "gradients": module.is_grad_enabled(),
            "deterministic": module.are_deterministic_algorithms_enabled(),
            "deterministic warns": module.is_deterministic_algorithms_warn_only_enabled(),
            "threads": module.get_num_threads(),
            "matmul precision": module.get_float32_matmul_precision(),
            "anomalies": module.is_anomaly_enabled(),
            "printing": dict(vars(module._tensor_str.PRINT_OPTS)),  # noqa: SLF001
        }
        if hasattr(module, "get_default_device"):
            found["default device"] = str(module.get_default_device())
        cudnn = module.backends.cudnn
        found |= {f"cudnn {name}": getattr(cudnn, name) for name in self._FLAGS}
        return found

    def defaults(self, module: Any) -> Mapping[str, Any]:
        now = self.read(module)
        known = {
            "default dtype": "torch.float32",
            "gradients": True,
            "deterministic": False,
            "deterministic warns": False,
            "matmul precision": "highest",
            "anomalies": False,
            "printing": {
                "precision": 4,
                "threshold": 1000,
                "edgeitems": 3,
                "linewidth": 80,
                "sci_mode": None,
            },
            "default device": "cpu",
            "cudnn enabled": True,
            "cudnn benchmark": False,
            "cudnn deterministic": False,
            "cudnn allow_tf32": True,
        }
        return {item: known.get(item, value) for item, value in now.items()}

    def reach_of(self, item: str) -> str:
        return "text" if item == "printing" else ""

    def put(self, module: Any, change: Change) -> None:
        for item, value in change.values.items():
            match item:
                case "default dtype":
                    module.set_default_dtype(getattr(module, value.partition(".")[2]))
                case "gradients":
                    module.set_grad_enabled(value)
                case "deterministic" | "deterministic warns":
                    wanted = {**self.read(module), **change.values}
                    module.use_deterministic_algorithms(
                        wanted["deterministic"], warn_only=wanted["deterministic warns"]
                    )
                case "threads":
                    module.set_num_threads(value)
                case "matmul precision":
                    module.set_float32_matmul_precision(value)
                case "anomalies":
                    module.autograd.set_detect_anomaly(value)
                case "printing":
                    vars(module._tensor_str.PRINT_OPTS).update(value)  # noqa: SLF001
                case "default device":
                    module.set_default_device(value)
                case _:
                    setattr(module.backends.cudnn, item.partition(" ")[2], value)
