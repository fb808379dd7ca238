"""What people read: tables on a terminal."""
