"""What a person reads: tables, header, progress."""
