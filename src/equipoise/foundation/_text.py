"""Text that may be shown: no secrets, nothing that drives a terminal, and numbers and lists of things in words.

Passwords are kept out of results, pages, messages and the causes of errors in two ways, for one alone would miss some:
what looks like a secret (user information of a URL, ``password=...``) is cut out of every text, and secrets that were
given to this process are cut out by their value, wherever they turn up.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from urllib.parse import quote, unquote


def printable(text: str) -> str:
    """Show control and direction characters as codes, so that a name in a file cannot drive the terminal."""
    return "".join(
        char if char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs") else f"\\u{ord(char):04x}"
        for char in text
    )


def shortened(text: str, most: int = 80) -> str:
    """Cut a text that is too long to be shown, and say how long it was."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"


def listing(names: Iterable[object], limit: int = 12) -> str:
    """Write names as a readable list that stays short however many there are."""
    texts = [str(name) for name in names]
    rest = len(texts) - limit
    return ", ".join(texts[:limit]) + (f" and {rest:,} more" if rest > 0 else "")


def plural(number: int, singular: str, more: str | None = None) -> str:
    """Write how many of something there are."""
    return f"{number:,} {singular if number == 1 else more or f'{singular}s'}"


def fitting(number: int, singular: str, several: str) -> str:
    """Return the words that fit a number of things."""
    return singular if number == 1 else several


def is_number(text: str) -> bool:
    """Tell whether a text can be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def percent(value: float) -> str:
    """Write a share as a percentage with one decimal."""
    return f"{100 * value:.1f}%"


def points(value: float) -> str:
    """Write a difference of shares in percentage points."""
    return f"{100 * value:.1f} points"


def number_of_people(number: float) -> str:
    """Write how many people there are."""
    return f"{number:,.0f} {'person' if round(number) == 1 else 'people'}"


HIDDEN = "***"
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# Of these the user's name is no secret; elsewhere it may be a token.
DATABASES = ("postgres", "mysql", "mariadb", "oracle", "mssql", "sqlite")
# Secrets by what their names end with or have as a part; ``tokens`` and ``tokenizer`` are words of language models.
_NAME = (
    r"[\w.-]*(?:(?:passw(?:or)?ds?|pwd|passphrase|passcode|secrets?|secret[_-]?key|credentials?|api[_-]?key|"
    r"access[_-]?key(?:[_-]?id)?)(?:[\d_.-][\w.-]*)?|token\d*)(?![\w.-])"
)
# What signs a URL, in its query alone.
_SIGNATURE = r"(?<=[?&])(?:[\w-]*-)?(?:sig|signature)"
SETTING = re.compile(rf"(?:(?:^|(?<=[\s?&;,]))({_NAME})\s*|({_SIGNATURE}))=\s*", re.IGNORECASE)
# Not ``token == 3``, which compares.
SETTING_IN_TEXT = re.compile(
    rf"({_NAME}(?=\s*=(?!=))|{_SIGNATURE})\s*=\s*(?:'[^'\n]*'|\"[^\"\n]*\"|[^\s&'\")]+)", re.IGNORECASE
)
# A frame of a traceback and its line of code, where that gives what is called a name.
CALL_IN_TRACEBACK = re.compile(r"(^ +File \".*\", line \d+.*\n +[\w.]+ = )([A-Za-z_][\w.]*\(.*)$", re.MULTILINE)
URL_IN_TEXT = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?P<user>[^\s:/@'\"?]*)(?P<word>:\S*)?@")
NO_PORT = re.compile(r"[^/:?\[]*:(?!\d*(?:[/?]|$))")
# A shorter one cannot be told from other words by its value; where it is given it is cut out by its place all the same.
SHORTEST = 4

_secrets: set[str] = set()


def redacted_argument(argument: str) -> str:
    """Return one argument of a command, or a URL, without its secrets; too much is hidden where they may end later."""
    return _split_secrets(argument)[0]


def _split_secrets(argument: str) -> tuple[str, list[str]]:
    """Return what may be shown of an argument, and what may not."""
    scheme, setting = SCHEME.search(argument), SETTING.search(argument)
    if setting is not None and (scheme is None or setting.start() < scheme.start()):
        return f"{argument[: setting.start()]}{setting[1] or setting[2]}={HIDDEN}", [argument[setting.end() :]]
    if scheme is None:
        return argument, []
    before, rest = argument[: scheme.end()], argument[scheme.end() :]
    setting, end, secrets = SETTING.search(rest), "", []
    if setting is not None:
        secrets.append(rest[setting.end() :])
        rest, end = rest[: setting.start()], f"{setting[1] or setting[2]}={HIDDEN}"
    user, at, host = rest.rpartition("@")
    name, colon, password = user.partition(":")
    if at and (colon or not scheme[0].startswith(DATABASES)):
        secrets.append(password if colon else name)
        before += f"{name if colon else HIDDEN}@"
    elif at:
        before += f"{name}@"
    elif secrets and "@" in secrets[0] and ":" in rest:  # a password with something like "?password=" in it
        name, _, password = rest.partition(":")
        secrets += [password, secrets[0].rpartition("@")[0]]
        return f"{before}{name}:{HIDDEN}{end}", secrets
    port = NO_PORT.match(host)
    if port is not None:  # a password whose host was forgotten
        secrets.append(host[port.end() :])
        host = f"{port[0]}{HIDDEN}"
    return before + host + end, secrets


def redacted(text: str) -> str:
    """Return a text without secrets: those that look like one, and those that were remembered."""
    for secret in sorted(_secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    if "://" in text:
        text = URL_IN_TEXT.sub(_user_alone, text)
    if "=" in text:
        text = SETTING_IN_TEXT.sub(rf"\1={HIDDEN}", text)
    return text


def redacted_traceback(text: str) -> str:
    """Return a traceback without secrets; code that calls something, ``token = next(tokens)``, says none of them."""
    parts = CALL_IN_TRACEBACK.split(text)
    # Before each call is the line up to it, which is split off so that what is called does not count as a value.
    return "".join(map(redacted, parts))


def _user_alone(url: re.Match[str]) -> str:
    named = url["word"] is not None or url["scheme"].startswith(DATABASES)
    return f"{url['scheme']}{url['user'] if named else HIDDEN}@"


def redacted_value(value: object) -> object:
    """Return plain JSON values with every text in them redacted."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, dict):
        return {name: redacted_value(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(redacted_value, value)) if type(value) in (list, tuple) else value
    return value


def remember_secrets(arguments: Iterable[str]) -> None:
    """Remember the secrets of arguments or URLs, so that no later text of this process shows them."""
    for argument in arguments:
        shown_argument, secrets = _split_secrets(argument)
        # A reader of URLs may take a part of a password for something else, such as the host.
        parts = [part for secret in secrets for part in (secret, *re.split(r"[@/?#&:]", secret))]
        spelt = (spelling for part in parts for spelling in _spellings(part))
        _secrets.update(text for text in spelt if len(text) >= SHORTEST and text not in shown_argument)


def has_secrets() -> bool:
    """Tell whether secrets were given to this process."""
    return bool(_secrets)


def _spellings(secret: str) -> Iterator[str]:
    for plain in dict.fromkeys((secret, unquote(secret))):
        yield from (plain, quote(plain), quote(plain, safe=""), repr(plain)[1:-1], json.dumps(plain)[1:-1])


def forget_secrets() -> None:
    """Forget what was remembered."""
    _secrets.clear()
