"""The verbs about encryption: key, rekey."""

from __future__ import annotations

import argparse
from typing import Any

from nbckpt.cli import parsing
from nbckpt.cli.showing import DONE, print_json, say

_SOURCE = "file:PATH, env:NAME, keyring or keyring:NAME"
_KEY = """\
A key is 32 bytes, as 64 hex digits or base64. Whoever loses it loses what is encrypted with it.

  nbckpt key new ~/.nbckpt.key
  export NBCKPT_ENCRYPTION=file:~/.nbckpt.key"""

_REKEY = """\
Another key takes a moment, also while notebooks run. Encrypting a plain store, --all and --new off
write the whole store again, and so need as much room as it has, and nobody who uses it meanwhile.
Killed at any instant it is as before or done; what was left beside it goes with the next rekey.

  nbckpt rekey --key file:old.key --new file:new.key
  nbckpt rekey --new keyring:work
  nbckpt rekey --new off"""


def add(verbs: Any) -> None:
    """Declare the verbs of this room."""
    key = parsing.verb(verbs, "key", _make, "make a key for encryption", _KEY)
    key.add_argument("new", choices=["new"], help="make one where none is")
    key.add_argument("where", metavar="PATH", help="of a new file, or keyring, or keyring:NAME")
    rekey = parsing.verb(
        verbs, "rekey", _rekey, "encrypt the store, with another key, or no more", _REKEY
    )
    rekey.add_argument(
        "--key", metavar="SOURCE", help=f"its key now: {_SOURCE}; by default NBCKPT_ENCRYPTION"
    )
    rekey.add_argument(
        "--new", metavar="SOURCE", help="its key from now on, or off; by default NBCKPT_ENCRYPTION"
    )
    rekey.add_argument(
        "--all", action="store_true", help="encrypt everything again, with a new data key"
    )
    parsing.takes_store(rekey)
    parsing.takes_json(rekey)


def _make(arguments: argparse.Namespace) -> int:
    from nbckpt.storage.key_sources import make_key

    source = make_key(arguments.where)
    say(
        f"made a key; keep a copy of it in another place, and encrypt new stores by\n"
        f"  export NBCKPT_ENCRYPTION={source}"
    )
    return DONE


def _rekey(arguments: argparse.Namespace) -> int:
    import dataclasses

    from nbckpt.storage.rekeying import rekey
    from nbckpt.timeline import events

    done = rekey(
        parsing.named_store(arguments),
        key=arguments.key,
        new=arguments.new,
        everything=arguments.all,
    )
    events.tell({"event": "rekeyed"})
    if arguments.json:
        print_json(dataclasses.asdict(done))
    else:
        say(str(done))
    return DONE
