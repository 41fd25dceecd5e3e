"""The outage experiment: many claims through a long outage, with the plain rule and with the breaker."""
