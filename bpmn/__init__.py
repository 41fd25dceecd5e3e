"""Tells the story: the deployable models and every name they share with the workers."""
