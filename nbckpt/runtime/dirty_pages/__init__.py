"""Changes in large memory, found page by page where the kernel tells, else by hashing.

`memory` is the door: names of chunks and derived values that hold as long as nothing was written.
`tracker` is the kernel's part (Linux 6.7 and newer), `mappings` says which memory it can be trusted
for, and `watches` keeps what is known of each range.

Notes
-----
Page protection is asked for asynchronously: the kernel itself lifts it at the first write and
remembers that it did. There is no signal handler, no thread that answers faults and no privilege.
Memory whose writes it cannot see is never watched: that which another process can write to, and
files that others may change. Writes of a device (a GPU that copies into pinned memory) go around
the page tables; who holds pinned memory says ``watch=False``.
"""
