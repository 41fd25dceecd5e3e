"""What tests share: samples, builders, databases, broker, network cables."""
