"""The documents' names for where mail waits: what their readers look for in figures, logs and notices."""

QUEUE = "email:send"
DEAD_LETTER_QUEUE = "email:send:dlq"
