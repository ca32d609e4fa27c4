"""Readers of draws: arrays, data frames, labelled arrays and files, each read into one `Table`."""
