"""The page: one self-contained HTML file that answers, shows and explains."""
