"""Files about items, read for their catalog and geometry."""

from prefmover.items.files import ItemColumns
from prefmover.items.table import ItemFiles


def read_item_table(*paths, on_bad_lines="error", **columns):
    files = ItemFiles.read(*paths, columns=ItemColumns(**columns), on_bad_lines=on_bad_lines)
    return files.catalog, files.geometry
