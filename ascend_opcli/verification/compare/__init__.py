"""An output against its golden: the plain definition of every statistic, and the fast tier."""
