"""No part of a password appears in what is shown or written."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest

from equipoise.foundation import (
    BadInput,
    provenance,
    redacted,
    redacted_argument,
    redacted_traceback,
    remember_secrets,
)

# Every letter sequence of them is found nowhere else in the URLs below.
PASSWORDS = [
    "Zq9xKw", "Zq9@xKw", "Zq9:xKw", "Zq9/xKw", "Zq9?xKw", "Zq9#xKw", "Zq9%xKw", "Zq9 xKw", "Zq9@xKw@Vj8", "Zq9ünüxKw",
    "@Zq9xKw@", "Zq9://xKw@Vj8", "Zq9?password=xKw", "Zq9&xKw=1@Vj8/a", "Zq9'xKw\"", "密码Zq9xKw", "Zq9%40xKw",
]  # fmt: skip
URLS = [
    "postgresql://me:{}@host:5432/study",
    "postgresql+psycopg://me:{}@host/study?sslmode=require",
    "postgresql://me@host:5432/study?sslmode=require&password={}",
    "postgresql://host/study?user=me&sslpassword={}",
    "--store=postgresql://me:{}@host/study",
    "http://me:{}@host/table.csv",
    "PGPASSWORD={}",
    "host=there password={}",
]


def leaks(text: str, password: str) -> list[str]:
    """Return the pieces of a password that a text has."""
    return [
        piece for piece in re.findall(r"[^\W_]{3,}|[^\x00-\x7f]+", password) if piece in text and piece != "password"
    ]


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("password", PASSWORDS)
def test_no_part_of_a_password_is_in_the_command_that_a_result_states(url: str, password: str) -> None:
    for spelt in (password, quote(password, safe=""), quote(password)):
        given = url.format(spelt)
        made = provenance(fingerprint="", command=["equipoise", "study", "report", given], data=given)
        assert not leaks(str(made["command"]), password), made["command"]
        if "@host" in url and "password=" not in spelt:
            assert "host" in str(made["command"])


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("password", PASSWORDS)
def test_no_part_of_a_remembered_password_is_in_a_message(url: str, password: str) -> None:
    given = url.format(password)
    remember_secrets([given])
    for text in (f"The store {given!r} did not answer", f"{given} is wrong (connection of me to host failed: {given})"):
        assert not leaks(str(BadInput(text, available=text, help=text)), password)
    # A driver that takes a part of it for the host.
    assert not leaks(redacted(f'could not translate host name "{password}"'), password)


def test_what_is_no_secret_is_left_as_it_is() -> None:
    for given in (
        "plan.toml", "--json", "a=b", "postgresql://me@host:5432/study", "postgresql:///study?host=/tmp/sock",
        "postgresql://[::1]:5432/study", "http://host:80/a", "--gate=demographic_parity<0.1", "C:\\a\\b.csv",
    ):  # fmt: skip
        assert redacted_argument(given) == given
        remember_secrets([given])
        assert redacted(f"There is no file {given!r}") == f"There is no file {given!r}"


def test_a_token_in_the_place_of_a_user_and_a_password_without_a_host_are_hidden() -> None:
    assert redacted_argument("https://ghp_Zq9xKw@host/a") == "https://***@host/a"
    assert "Zq9" not in redacted_argument("postgresql://me:Zq9xKw/study")


def test_a_password_that_is_the_name_of_the_database_does_not_garble_messages() -> None:
    remember_secrets(["postgresql://postgres:postgres@host/postgres"])
    assert str(BadInput("No role 'postgres' in postgresql://postgres@host/postgres")) == (
        "No role 'postgres' in postgresql://postgres@host/postgres"
    )


def test_code_and_settings_of_language_models_are_not_taken_for_secrets() -> None:
    for given in ("tokens = tokenizer(texts)", "if token == 3:", "(max_tokens=512)", "token_ids=[1, 2]"):
        assert redacted(given) == given
        assert str(BadInput(given)).startswith(given)
    assert redacted_argument("max_tokens=512") == "max_tokens=512"
    for name in ("token", "access_token", "client_secret", "AWS_SECRET_ACCESS_KEY", "api_key", "PGPASSWORD"):
        for spelt in ("Zq9xKw", "'Zq9 xKw'", '"Zq9 xKw"'):
            assert "xKw" not in redacted(f"login({name}={spelt})")


def test_a_call_in_a_traceback_is_shown_without_the_secrets_that_it_names() -> None:
    frame = '  File "a.py", line 3, in read\n'
    told = f"{frame}    token = tokenizer(texts)\n{frame}    token = login(password='Zq9', at='http://me:xKw@host')\n"
    shown = redacted_traceback(f"{told}{frame}    token = 'Vj8'\nValueError: password=Yw7(\n")
    assert "    token = tokenizer(texts)\n" in shown
    assert "    token = login(password=***" in shown
    assert not [secret for secret in ("Zq9", "xKw", "Vj8", "Yw7") if secret in shown]


@pytest.mark.parametrize("name", ["sig", "signature", "X-Amz-Signature"])
def test_the_signature_of_a_url_is_hidden(name: str) -> None:
    given = f"https://host/table.csv?expires=1&{name}=Zq9xKw"
    assert redacted_argument(given) == redacted(given) == f"https://host/table.csv?expires=1&{name}=***"
    assert redacted(f"{given}&part=2") == f"https://host/table.csv?expires=1&{name}=***&part=2"
    assert redacted("design=3 and ?design=3") == "design=3 and ?design=3"
