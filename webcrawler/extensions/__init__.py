"""Extensions: what a crawl tells people while it runs and leaves when it ends."""
