"""What runs on timer cycles: relay, retention, probes, clean-up."""
