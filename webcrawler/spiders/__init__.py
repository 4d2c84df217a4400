"""Spiders: `web` (anywhere), `site` (the seeds' hosts), `directory` (below the seeds)."""
