"""``python -m prefmover.cli`` is ``prefmover``."""

from prefmover.cli import main

if __name__ == "__main__":
    main()
