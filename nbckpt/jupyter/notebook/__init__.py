"""Knowledge of a store and a session about the cells of a notebook, as a page beside it asks.

The place of each cell's run on a line of checkpoints (`runs`); the state of each cell now (`marks`,
`staleness`, `present_values`); the looks of cells at a checkpoint (`looks`); and the fate of each
cell, were the notebook resumed (`resume_forecast`) or run again from a step on (`rerun_forecast`).
"""
