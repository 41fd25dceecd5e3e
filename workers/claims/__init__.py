"""Use cases on claims: intake, reviews, corrections, protocols."""
