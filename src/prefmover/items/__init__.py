"""What is known about items: vectors, distances, titles."""
