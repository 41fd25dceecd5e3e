"""Mail: queued with what asks for it, sent by lanes, kept with its reason when it dies."""
