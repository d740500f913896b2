"""Encryption: key, rekey."""

from __future__ import annotations

import dataclasses

from nbckpt.verbs.arguments import OF_STORE, TERMINAL_ONLY, argument, flag
from nbckpt.verbs.calls import Answer, Call
from nbckpt.verbs.registry import declare

_SOURCE = "file:PATH, env:NAME, keyring or keyring:NAME"


@declare(
    "key",
    "make a key for encryption",
    argument("new", choices=["new"], help="make one where none is"),
    argument("where", metavar="PATH", help="of a new file, or keyring, or keyring:NAME"),
    doors=TERMINAL_ONLY,
    more="""\
A key is 32 bytes, as 64 hex digits or base64. Whoever loses it loses what is encrypted with it.

  nbckpt key new ~/.nbckpt.key
  export NBCKPT_ENCRYPTION=file:~/.nbckpt.key""",
)
def _key(call: Call) -> Answer:
    from nbckpt.storage.key_sources import make_key

    source = make_key(call.arguments.where)
    return Answer(
        lambda: (
            "made a key; keep a copy of it in another place, and encrypt new stores by\n"
            f"  export NBCKPT_ENCRYPTION={source}"
        )
    )


@declare(
    "rekey",
    "encrypt the store, with another key, or no more",
    argument(
        "--key", metavar="SOURCE", help=f"its key now: {_SOURCE}; by default NBCKPT_ENCRYPTION"
    ),
    argument(
        "--new", metavar="SOURCE", help="its key from now on, or off; by default NBCKPT_ENCRYPTION"
    ),
    flag("--all", help="encrypt everything again, with a new data key"),
    *OF_STORE,
    doors=TERMINAL_ONLY,
    more="""\
Another key takes a moment, also while notebooks run. Encrypting a plain store, --all and --new off
write the whole store again, and so need as much room as it has, and nobody who uses it meanwhile.
Killed at any instant it is as before or done; what was left beside it goes with the next rekey.

  nbckpt rekey --key file:old.key --new file:new.key
  nbckpt rekey --new keyring:work
  nbckpt rekey --new off""",
)
def _rekey(call: Call) -> Answer:
    from nbckpt.storage.rekeying import rekey
    from nbckpt.timeline import events

    asked = call.arguments
    done = rekey(call.path, key=asked.key, new=asked.new, everything=asked.all)
    events.tell({"event": "rekeyed"})
    return Answer(lambda: str(done), lambda: dataclasses.asdict(done))
