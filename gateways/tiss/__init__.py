"""TISS over SOAP: sends batches of guides to a payer and says what came of it."""
