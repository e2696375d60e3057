"""Lets ``python -m equipoise`` run the program."""

from equipoise.cli import main

if __name__ == "__main__":  # a worker of a study imports this file and must not start the program again
    main()
