"""Item pipelines, one a file, in the order of the textbook (see webcrawler.settings)."""
