"""Where draws come from: arrays, data frames, labelled arrays and files, each read into one `Table`."""
