"""Small programs that a suite runs in fresh processes; each prints one JSON line."""
