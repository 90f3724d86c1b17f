"""What is blanked, what is kept, and that long texts do not hold it up."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopguard_cli.store.redaction import Redactor

# Made up, and put together here so that no scanner takes this file for a leak.
A, D, X = string.ascii_letters * 3, string.digits * 10, "0123456789abcdef" * 6


def redacted(text: str, home: str = "") -> str:
    return Redactor(home).redact(text)


@pytest.mark.parametrize(
    "secret",
    [
        "sk-" + A[:40],
        "sk-" + "ant-api03-" + A[:60],
        "sk-" + "proj-" + A[:30] + "_-" + D[:10],
        "ghp_" + A[:36],
        "github_pat_" + A[:22] + "_" + D[:30],
        "glpat-" + A[:20],
        "xoxb-" + D[:12] + "-" + A[:24],
        "https://hooks.slack.com/" + "services/T00000000/B00000000/" + A[:24],
        "AKIA" + "IOSFODNN7EXAMPLE"[:16].replace("9", "7").replace("8", "7"),
        "AIza" + A[:35],
        "ya29." + A[:40],
        "hf_" + A[:34],
        "npm_" + A[:36],
        "pypi-" + A[:60],
        "sk_" + "live_" + A[:24],
        "SG." + A[:22] + "." + A[:43],
        "dapi" + X[:32],
        "dop_v1_" + X[:64],
        "1234567890:AA" + A[:33],
        "eyJ" + A[:20] + ".eyJ" + A[:30] + "." + A[:20],
        "-----BEGIN RSA " + "PRIVATE KEY-----\n" + A[:64] + "\n" + A[:64] + "\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN OPENSSH " + "PRIVATE KEY-----\n" + A[:64] + "\ncut off here",
    ],
    ids=lambda secret: secret[:12],
)
@pytest.mark.parametrize("around", ["{}", "before {} after", '{{"x": "{}"}}', "KEY={}\n", "(`{}`)", "a,{},b"])
def test_credentials_go_wherever_they_stand(secret: str, around: str) -> None:
    redactor = Redactor()
    left = redactor.redact(around.format(secret))
    assert secret not in left
    assert not any(part in left for part in (A[:16], D[:12], X[:16]))
    assert redactor.blanked >= 1


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("password = 'hunter22'", "password = '[secret]'"),
        ('"apiKey": "abcd1234"', '"apiKey": "[secret]"'),
        ("'client_secret' => 'a b c d'", "'client_secret' => '[secret]'"),
        ('db_password: "it\'s \\"quoted\\" 1"', 'db_password: "[secret]"'),
        ("export GITHUB_TOKEN=abc123def", "export GITHUB_TOKEN=[secret]"),
        ("STRIPE_SECRET=whatever-it-is-1", "STRIPE_SECRET=[secret]"),
        ("run with DB_PASSWORD=correcthorse ./x", "run with DB_PASSWORD=[secret] ./x"),
        ("  - api_key: 9f8e7d6c5b", "  - api_key: [secret]"),
        ("Authorization: Bearer abcdef123456789", "Authorization: Bearer [token]"),
        ("curl -u x --token s3cr3t-value https://h", "curl -u x --token [secret] https://h"),
        ("mysql --password=s3cret db", "mysql --password=[secret] db"),
        ("postgres://user:p4ss-word@db.local:5432/x", "postgres://user:[password]@db.local:5432/x"),
        ("https://oauth2:tok@git.example.org/a.git", "https://oauth2:[password]@git.example.org/a.git"),
        ("curl -s -u admin:passw0rd https://x", "curl -s -u admin:[password] https://x"),
        ("curl --user 'admin:pass word' https://x", "curl --user 'admin:[password]' https://x"),
        ("sshpass -p 'a b' ssh h", "sshpass -p [password] ssh h"),
        ("sshpass -p hunter22 ssh h", "sshpass -p [password] ssh h"),
        ("docker login -u jane -p hunter22 reg", "docker login -u jane -p [password] reg"),
        ("mysqldump -uroot -phunter22 shop", "mysqldump -uroot -p[password] shop"),
        ("write to jane.doe+x@mail.example.org.", "write to [mail address]."),
        ("/home/jane/shop/main.py:3", "~/shop/main.py:3"),
        ("cd /Users/jane && ls", "cd ~ && ls"),
        (r"C:\Users\Jane\shop", r"~\shop"),
        (r'"C:\\Users\\Jane\\shop"', r'"~\\shop"'),
    ],
)
def test_values_beside_telling_names(text: str, left: str) -> None:
    assert redacted(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "token = tokens[0]",
        "password: str",
        "password: Optional[str] = None",
        'password = ""',
        "api_key = os.environ['OPENAI_API_KEY']",
        'API_KEY="${API_KEY}"',
        'password = "changeme"',
        "def set_password(self, password: str) -> None:",
        "if token == previous_token:",
        "max_tokens=4096",
        '"tokens": {"input": 100, "output": 25}',
        "the secret of a good password is its length",
        "@decorator",
        "git@github.com:org/repo.git is a remote"[3:],
        "npm install @scope/name@1.2.3",
        "user@localhost",
        "commit 9f8e7d6c5b4a39281706f5e4d3c2b1a098765432",
        "550e8400-e29b-41d4-a716-446655440000",
        "/homepage/index.html and /usr/home/x",
        "mask-image: url(x)",
        "risk-assessment-of-the-whole-thing",
        "disk-usage-report-generator-tool",
        "http://localhost:8080/a@b",
        "keyboard = 'qwerty'",
        "monkey: banana",
        "primary_key=True",
        "sort_key: created_at",
        "docker run -u 1000:1000 -p 8080:80 image",
        "curl -u admin https://host:8080/x",
        "mysql -u root -p",
        "mkdir -p src/a && cp -p a b",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redacted(text) == text


def test_a_home_that_lies_elsewhere() -> None:
    assert redacted("/data/people/jane/shop", home="/data/people/jane/") == "~/shop"
    assert redacted("/a/root/x", home="/") == "/a/root/x"


def test_it_counts() -> None:
    redactor = Redactor()
    redactor.redact("a@b.org and c@d.org in /home/jane")
    redactor.redact("nothing")
    assert redactor.blanked == 3


@given(st.text(max_size=400))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redacted(text)
    assert redacted(once) == once


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "a.",
        "a-",
        "a_key",
        "password",
        "token=",
        "/home/",
        "eyJ",
        "x@",
        "--token ",
        "'",
        "sk-",
        " ",
        "curl ",
        "curl -u ",
        "docker login ",
        "mysql ",
    ],
)
def test_long_texts_take_no_longer_than_they_should(unit: str) -> None:
    redacted(unit * (60_000 // len(unit)))
