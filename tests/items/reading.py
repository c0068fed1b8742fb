"""Files about items, read for their catalog and geometry."""

from prefmover.data.file_options import FileOptions
from prefmover.items.table import ItemFiles


def read_item_table(*paths, **options):
    files = ItemFiles.read(*paths, options=FileOptions(**options))
    return files.catalog, files.geometry
