"""What only the pages show: maps, profiles, groups of items, and neighbors by several measures."""
