"""What people read: tables on a terminal, pages and pictures."""
