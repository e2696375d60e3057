"""Lets ``python -m equipoise`` run the program."""

from equipoise.cli import main

main()
