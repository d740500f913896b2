"""What a store and a session know of the cells of a notebook, as a page beside it asks.

Which cell ran where on a line of checkpoints (`runs`); what stands to each cell now (`marks`,
`staleness`, `present`); how cells looked at a checkpoint (`looks`); and what would become of them,
were the notebook resumed (`resuming`) or run again from a step on (`prospects`).
"""
