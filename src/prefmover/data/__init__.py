"""The door: anything in, checked ratings out."""
