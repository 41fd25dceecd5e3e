"""Who comes in: passwords, sessions, links, tokens against forged forms."""
