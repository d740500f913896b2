"""Names in streams of nbckpt's own functions and classes.

A stream that names a module breaks when the module moves. So a stream calls ``nbckpt.stored`` with
a name of this table. A move changes the right side of a line. The left side belongs to the format:
`FORMAT.md` lists it, and `tests/codecs/test_stored_names.py` pins it.

Notes
-----
Rejected: another `__module__` on the functions, where pickle looks for them, but tools like
`inspect` do so, too; codes of `copyreg`, which hold for all pickles of a process, also for those of
the user; a `find_class` of our own, which still needs names that pickle can write.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import Any

from nbckpt.errors import FormatError
from nbckpt.fingerprint.values.homes import found_in

STORED: dict[str, str] = {
    # -- functions and classes of the notebook
    "from_notebook": "nbckpt.codecs.loading:from_namespace",
    "function": "nbckpt.codecs.functions:make_function",
    "set_function": "nbckpt.codecs.functions:set_function",
    "code": "nbckpt.codecs.functions:make_code",
    "fill_cell": "nbckpt.codecs.functions:fill_cell",
    "cached_function": "nbckpt.codecs.cached_functions:make_cached",
    "set_cached_function": "nbckpt.codecs.cached_functions:set_cached",
    "step_function": "nbckpt.steps.calls.decorator:again",
    "class": "nbckpt.codecs.class_making:make_class",
    "set_class": "nbckpt.codecs.class_making:set_class",
    "class_statement": "nbckpt.codecs.class_statements:make",
    "enum": "nbckpt.codecs.classes:make_enum",
    "set_enum": "nbckpt.codecs.classes:set_enum",
    "type_alias": "nbckpt.codecs.typing_objects:make_alias",
    "type_variable": "nbckpt.codecs.typing_objects:make_variable",
    "set_type_variable": "nbckpt.codecs.typing_objects:set_members",
    "recipe": "nbckpt.capture.recipes.recipes:follow",
    # -- objects of any class
    "itself": "nbckpt.codecs.functions:itself",
    "new_bare": "nbckpt.codecs.bare_instances:new_bare",
    "new_of_base": "nbckpt.codecs.bare_instances:new_of_base",
    "made_by_base": "nbckpt.codecs.bare_instances:made_by_base",
    "set_state": "nbckpt.types.setters:set_state",
    "set_members": "nbckpt.types.setters:set_members",
    "set_with_members": "nbckpt.fingerprint.values.reducing:set_with_members",
    "set_attributes": "nbckpt.types.setters:set_attributes",
    "set_dict": "nbckpt.codecs.instance_dicts:give",
    "segmented_list": "nbckpt.codecs.segmented:list_of",
    "segmented_dict": "nbckpt.codecs.segmented:dict_of",
    "segmented_list_of_instances": "nbckpt.codecs.segmented:list_of_instances",
    "segmented_dict_of_instances": "nbckpt.codecs.segmented:dict_of_instances",
    "fill_container": "nbckpt.fingerprint.values.reducing:fill",
    "set_bunch": "nbckpt.codecs.bunches:set_members",
    "hold_itself": "nbckpt.codecs.bunches:hold_itself",
    "sentinel": "nbckpt.codecs.singletons:sentinel_in",
    "member_of_module": "nbckpt.codecs.singletons:named_in",
    "dill": "nbckpt.codecs.refused_objects:from_dill",
    # -- the standard library
    "exception": "nbckpt.codecs.exceptions:make_exception",
    "set_exception": "nbckpt.codecs.exceptions:set_exception",
    "weak_reference": "nbckpt.codecs.weak_references:watching",
    "dead_reference": "nbckpt.codecs.weak_references:dead_reference",
    "dead_proxy": "nbckpt.codecs.weak_references:dead_proxy",
    "fill_weak": "nbckpt.codecs.weak_references:fill",
    "memoryview": "nbckpt.codecs.views:make_view",
    "released_memoryview": "nbckpt.codecs.views:released_view",
    "dict_view": "nbckpt.codecs.views:make_dict_view",
    "dict_iterator": "nbckpt.fingerprint.values.dict_iterators:dict_iterator",
    "set_iterator": "nbckpt.codecs.library:set_iterator",
    "ended_generator": "nbckpt.codecs.running_objects:ended_generator",
    "lock": "nbckpt.codecs.locks:make_lock",
    "rlock": "nbckpt.codecs.locks:make_rlock",
    "thread_local": "nbckpt.codecs.locks:make_local",
    "thread": "nbckpt.codecs.running_objects:make_thread",
    "set_thread": "nbckpt.codecs.running_objects:set_thread",
    "context_variable": "nbckpt.codecs.library:make_variable",
    "set_context_variable": "nbckpt.codecs.library:set_variable",
    "simple_queue": "nbckpt.types.standard_library:make_simple_queue",
    "fill_simple_queue": "nbckpt.types.standard_library:put_all",
    "shared_value": "nbckpt.types.standard_library:make_shared",
    "re_match": "nbckpt.codecs.library:make_match",
    "csv_reader": "nbckpt.types.standard_library:make_csv_reader",
    "closed_file": "nbckpt.codecs.files:closed_file",
    "closed_memory_file": "nbckpt.codecs.files:closed_in_memory",
    "standard_stream": "nbckpt.codecs.singletons:stream_of",
    "environment_variable": "nbckpt.codecs.clients:from_environment",
    "ssl_context": "nbckpt.codecs.ssl_contexts:make_context",
    # -- NumPy
    "array": "nbckpt.codecs.arrays:array_from",
    "array_columns": "nbckpt.codecs.array_memory:columns_from",
    "empty_array": "nbckpt.codecs.arrays:empty_from",
    "array_view": "nbckpt.codecs.arrays:view_of",
    "array_subclass": "nbckpt.codecs.arrays:subclass_from",
    "set_array": "nbckpt.codecs.arrays:set_members",
    "set_read_only_array": "nbckpt.codecs.arrays:_set_read_only_state",
    "array_record": "nbckpt.codecs.array_elements:record_at",
    "array_flat": "nbckpt.codecs.array_elements:flat_of",
    "memory_map": "nbckpt.codecs.memmaps:map_of",
    "memory_map_part": "nbckpt.codecs.memmaps:part_of",
    "random_generator": "nbckpt.codecs.singletons:hidden_generator",
    "ufunc": "nbckpt.types.numpy:make_ufunc",
    "broadcast": "nbckpt.types.numpy:make_broadcast",
    # -- PyTorch
    "storage": "nbckpt.codecs.storages:storage_from",
    "storage_bytes": "nbckpt.codecs.storages:bytes_of",
    "tensor": "nbckpt.codecs.tensors:tensor_from",
    "set_tensor": "nbckpt.codecs.tensors:set_members",
    "torch_generator": "nbckpt.codecs.tensors:generator_from",
    "torch_program": "nbckpt.codecs.torch_modules:load_exported",
    "torch_script": "nbckpt.codecs.torch_modules:script_from",
    "bare_module": "nbckpt.codecs.torch_modules:bare_module",
    "parametrise_module": "nbckpt.codecs.torch_modules:parametrise",
    "bare_optimizer": "nbckpt.codecs.torch_modules:bare_optimiser",
    "fill_optimizer": "nbckpt.codecs.torch_modules:fill_optimiser",
    "compiled_function": "nbckpt.codecs.torch_modules:compiled_from",
    # -- other libraries
    "set_table": "nbckpt.codecs.pandas_blocks:set_state",
    "polars_column": "nbckpt.codecs.column_memory:column_from",
    "polars_series": "nbckpt.types.polars:series_from",
    "polars_frame": "nbckpt.types.polars:frame_from",
    "widget": "nbckpt.codecs.widgets:make_widget",
    "set_widget": "nbckpt.codecs.widgets:set_state",
    "numba_list": "nbckpt.types.numba:make_typed_list",
    "numba_dict": "nbckpt.types.numba:make_typed_dict",
    "regex_pattern": "nbckpt.types.regex:make_regex",
    "regex_match": "nbckpt.types.regex:make_regex_match",
    "item_of": "nbckpt.types.spacy:item_of",
    "spacy_span": "nbckpt.types.spacy:make_span",
    "validated_function": "nbckpt.types.pydantic:make_validated",
    "msgspec_coder": "nbckpt.types.msgspec:make_coder",
    "token_type": "nbckpt.types.tokens:token_of",
    "prepared_geometry": "nbckpt.types.shapely:make_prepared",
    "image_draw": "nbckpt.types.pillow:make_draw",
    "pint_quantity": "nbckpt.types.pint:make_quantity",
    "pint_unit": "nbckpt.types.pint:make_unit",
    "with_fold": "nbckpt.types.pendulum:with_fold",
    # -- what a notebook imports from nbckpt
    "Approval": "nbckpt.steps.approvals.approval:Approval",
    "Session": "nbckpt.session.session:Session",
    "answer": "nbckpt.verbs.asking:answer",
    "approvals": "nbckpt.verbs.asking:approvals",
    "approve": "nbckpt.steps.approvals.approving:approve",
    "approve_async": "nbckpt.steps.approvals.approving:approve_async",
    "budget": "nbckpt.verbs.model_calls:budget",
    "checkpoint": "nbckpt.steps.block:checkpoint",
    "diff": "nbckpt.verbs.looking:diff",
    "event": "nbckpt.verbs.python_only:event",
    "export": "nbckpt.verbs.handing:export",
    "fork": "nbckpt.verbs.moving:fork",
    "get": "nbckpt.verbs.looking:get",
    "history": "nbckpt.verbs.histories:history",
    "note": "nbckpt.verbs.keeping:note",
    "now": "nbckpt.steps.recorded_values:now",
    "open": "nbckpt.verbs.python_only:open",
    "prune": "nbckpt.verbs.keeping:prune",
    "random": "nbckpt.steps.recorded_values:random",
    "recording": "nbckpt.llm.scope:recording",
    "recover": "nbckpt.steps.retry_block:recover",
    "reducer": "nbckpt.verbs.updating:reducer",
    "rerun": "nbckpt.verbs.moving:rerun",
    "resolve": "nbckpt.steps.calls.intents:resolve",
    "restore": "nbckpt.verbs.histories:restore",
    "resume": "nbckpt.verbs.moving:resume",
    "rewind": "nbckpt.verbs.moving:rewind",
    "sql": "nbckpt.verbs.looking:sql",
    "step": "nbckpt.steps.calls.decorator:step",
    "switch": "nbckpt.verbs.moving:switch",
    "tag": "nbckpt.verbs.keeping:tag",
    "trust": "nbckpt.verbs.handing:trust",
    "update": "nbckpt.verbs.updating:update",
    "uuid": "nbckpt.steps.recorded_values:uuid",
    "wait": "nbckpt.verbs.python_only:wait",
    "running_step": "nbckpt.steps.items:running_step",
    "map": "nbckpt.steps.items:ThroughItems.map",
    "track": "nbckpt.steps.items:ThroughItems.track",
    "Provider": "nbckpt.testing.offline:Provider",
    "Fault": "nbckpt.testing.faults:Fault",
    "Received": "nbckpt.testing.counts:Received",
    "ToolCall": "nbckpt.testing.replies:ToolCall",
    # -- what nbckpt returns, and raises
    "look": "nbckpt.verbs.looking:look_at",
    "look_values": "nbckpt.verbs.looking:values_at",
    "Checkpoint": "nbckpt.model:Checkpoint",
    "Cell": "nbckpt.model:Cell",
    "Key": "nbckpt.model:Key",
    "Refusal": "nbckpt.model:Refusal",
    "Variable": "nbckpt.model:Variable",
    "Variables": "nbckpt.timeline.checkpoint_records:_Variables",
    "MoveResult": "nbckpt.session.moves.move_result:MoveResult",
    "Rerun": "nbckpt.steps.rerun.result:Rerun",
    "CellRun": "nbckpt.steps.rerun.result:CellRun",
    "Pruned": "nbckpt.storage.pruning:Pruned",
    "Exported": "nbckpt.session.maintenance.export_report:Exported",
    "ExportedFiles": "nbckpt.session.maintenance.export_report:ExportedFiles",
    "UntrustedReport": "nbckpt.session.maintenance.untrusted_report:UntrustedReport",
    "Failure": "nbckpt.steps.calls.failures:Failure",
    "BlobNotFoundError": "nbckpt.errors:BlobNotFoundError",
    "BranchExistsError": "nbckpt.errors:BranchExistsError",
    "BranchNotFoundError": "nbckpt.errors:BranchNotFoundError",
    "BudgetError": "nbckpt.errors:BudgetError",
    "CaptureError": "nbckpt.errors:CaptureError",
    "CheckpointNotFoundError": "nbckpt.errors:CheckpointNotFoundError",
    "FormatError": "nbckpt.errors:FormatError",
    "NbckptError": "nbckpt.errors:NbckptError",
    "NotFoundError": "nbckpt.errors:NotFoundError",
    "NotebookError": "nbckpt.errors:NotebookError",
    "RefusedError": "nbckpt.errors:RefusedError",
    "ReplayError": "nbckpt.errors:ReplayError",
    "RestoreError": "nbckpt.errors:RestoreError",
    "SealedError": "nbckpt.errors:SealedError",
    "StaleCaptureError": "nbckpt.errors:StaleCaptureError",
    "StoreError": "nbckpt.errors:StoreError",
    "UnansweredError": "nbckpt.errors:UnansweredError",
    "UncertainError": "nbckpt.errors:UncertainError",
    "UntrustedError": "nbckpt.errors:UntrustedError",
    "UsageError": "nbckpt.errors:UsageError",
    "VariableNotFoundError": "nbckpt.errors:VariableNotFoundError",
}
"""Name in streams → module and name of the function or class, with a colon between them."""

_NAMES = {home: name for name, home in STORED.items()}


def stored(name: str) -> object:
    """The function or class of nbckpt that streams call `name`.

    Raises
    ------
    FormatError
        If there is none of that name.
    """
    if type(name) is not str or (home := STORED.get(name)) is None:
        message = f"it names {str(name)[:60]!r}, which a newer nbckpt has: upgrade nbckpt"
        raise FormatError(message)
    return _object_at(home)


@cache
def _object_at(home: str) -> object:
    module, _, path = home.partition(":")
    found: object = attrgetter(path)(import_module(module))
    return found


# The only path into nbckpt that streams hold: the root of the package stays where it is. Both texts
# are made here, so that no value holds them: pickle would write a second use in other bytes.
stored.__module__, stored.__qualname__ = "".join(("nb", "ckpt")), "".join(("sto", "red"))


def reduced(obj: Any) -> tuple[Any, tuple[str]] | None:
    """The reduction of a function or class that has a name here; None of any other."""
    module = obj.__module__
    if type(module) is not str or not module.startswith("nbckpt."):
        return None
    path = obj.__qualname__
    name = _NAMES.get(f"{module}:{path}")
    if name is None or found_in(sys.modules.get(module), path) is not obj:
        return None
    return stored, (name.encode().decode(),)  # a text that no value holds
