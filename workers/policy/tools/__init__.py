"""What people ask of a policy: lint, diff, plot, explain."""
