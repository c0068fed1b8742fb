"""Items: their vectors, distances, titles."""
