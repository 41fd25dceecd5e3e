"""Mail: queued with what asks for it, sent by turns from lanes, kept with its reason when it dies."""
