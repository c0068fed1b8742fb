"""Ratings: reading, checking, splitting."""
