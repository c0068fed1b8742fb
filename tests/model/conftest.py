from prefmover import Dataset
from prefmover.items.catalog import Catalog
from tests.predict.conftest import data

__all__ = ["data", "with_title"]


def with_title(data, item, title):
    """Return a data set in which one item has another title."""
    items, position = data.catalog, data.ratings.item_position(item)
    titles, years = list(items.titles), items.years.copy()
    titles[position], years[position] = title, 0
    catalog = Catalog(items.ids, titles, years, items.genres)
    nouns = {"user_noun": data.user_noun, "item_noun": data.item_noun}
    return Dataset(data.ratings, data.geometry, catalog, name=data.name, **nouns)
