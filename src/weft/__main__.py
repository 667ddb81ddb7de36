"""`python -m weft`: the command line."""

from weft.cli import app

if __name__ == "__main__":
    app(prog_name="weft")
