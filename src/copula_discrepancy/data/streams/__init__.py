"""Sources of data that are read in pieces, in row order, because they need not fit in memory."""
