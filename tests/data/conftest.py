"""Ratings, read back as dictionaries."""


def as_dicts(ratings):
    return {user: ratings[user] for user in ratings}
