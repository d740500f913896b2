"""Model calls: seen at the HTTP transport below every SDK, recorded, and replayed.

A seam tells the recorder of a request before it is sent. The recorder answers from the store, or
takes down what the transport gives, and has it durable before the caller sees the end of it.
"""
