"""The console command, which says in one line what is missing without the extra."""

import sys


def main() -> None:
    """Run the program."""
    try:
        from widemargin.app.cli import main as run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "widemargin":
            raise
        sys.exit(
            f"error: the program needs the package {error.name}; install it with "
            "pip install 'widemargin[app]'"
        )
    run()
