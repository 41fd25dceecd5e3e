"""Mail to the outside: SMTP, Amazon SES, or a folder of files."""
