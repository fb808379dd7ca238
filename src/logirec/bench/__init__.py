"""What `logirec bench` measures, and the literal implementation it measures against."""
