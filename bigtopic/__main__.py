"""`python -m bigtopic` is the command line."""

from bigtopic.cli import main

if __name__ == "__main__":
    main()
