"""`python -m logirec`, where the command itself is not installed."""

from logirec.cli.main import main

if __name__ == "__main__":
    main()
