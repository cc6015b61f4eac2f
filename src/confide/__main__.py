"""Entry point of the command `confide`, and of `python -m confide`."""

from confide.cli import guard


def main() -> None:
    """Run the command line."""
    guard()
    from confide.cli.main import run

    run()


if __name__ == "__main__":
    main()
