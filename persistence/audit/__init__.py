"""The audit trail: events chained per claim, anchored per day, proven on demand."""
