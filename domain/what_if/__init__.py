"""What would have happened: stored claims played again through the decision and the breaker."""
