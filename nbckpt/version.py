"""The version of nbckpt."""

__version__ = "0.1.0"
