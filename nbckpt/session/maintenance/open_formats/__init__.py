"""Export of one checkpoint in open formats: files that other programs read without nbckpt.

Tables become Parquet, arrays ``.npy`` without pickles, plain data JSON, figures PNG, and the cells
that ran a notebook. `index.json` says which file holds which variable, or why none does.
"""
