"""One frozen Settings, read once from the environment, nested by topic."""
