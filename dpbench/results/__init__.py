"""Results as frozen records, and the files they are kept in."""
