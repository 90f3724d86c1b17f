"""Blanks what must not leave a machine in a text that a person asked to see: keys, tokens,
passwords, mail addresses, and the name in the path of a home folder.

The rules know the published forms of credentials, and values that stand beside a telling name.
They cannot know a password in the middle of a sentence: what was redacted still has to be looked
through, and every page that holds redacted content says so.
"""

from __future__ import annotations

import re

_ISSUED = (
    # OpenAI, Anthropic, OpenRouter and others of that form
    r"sk-(?:ant-|proj-|or-v1-|live-)?[A-Za-z0-9_-]{16,}",
    # GitHub
    r"gh[pousr]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    # GitLab
    r"gl(?:pat|ptt|dt|rt|cbt|ft|soat)-[A-Za-z0-9_.-]{16,}",
    # Slack
    r"xox[abeprs]-[A-Za-z0-9-]{10,}",
    r"xapp-\d-[A-Za-z0-9-]{10,}",
    r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]+",
    # AWS
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b",
    # Google
    r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])",
    r"ya29\.[A-Za-z0-9_-]{20,}",
    r"GOCSPX-[\w-]{20,}",
    # Azure
    r"AccountKey=[A-Za-z0-9+/=]{40,}",
    # Hugging Face, Groq
    r"hf_[A-Za-z0-9]{30,}",
    r"gsk_[A-Za-z0-9]{40,}",
    # npm, PyPI
    r"npm_[A-Za-z0-9]{30,}",
    r"pypi-[A-Za-z0-9_-]{50,}",
    # Stripe
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}",
    r"whsec_[A-Za-z0-9+/=]{20,}",
    # SendGrid, Twilio
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"SK[0-9a-f]{32}\b",
    # DigitalOcean, Databricks
    r"do[oprt]_v1_[0-9a-f]{40,}",
    r"dapi[0-9a-f]{32}\b",
    # Telegram bots
    r"\d{8,10}:AA[A-Za-z0-9_-]{33}\b",
    # age
    r"AGE-SECRET-KEY-1[A-Z0-9]{50,}",
    # JSON web tokens, whoever signs them
    r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
)
"""Forms of credentials by who issues them."""

_SECRET_NAME = (
    r"(?:[\w.-]{0,40}?(?:password|passwd|passphrase|pwd|secret|credential|api[_-]?key|access[_-]?key"
    r"|private[_-]?key|(?:auth|access|refresh|session|bearer)[_-]?token|client[_-]?secret)s?"
    r"|token|[\w.-]{0,40}_(?:token|key|pass|auth)|(?:proxy-)?authorization|(?:set-)?cookie|x-api-key)"
)
_NO_SECRET = (
    r"(?:null|none|nil|true|false|undefined|str|string|bytes|int|optional|required|changeme|x{3,}|\*+"
    r"|\$\{?\w+\}?|<[^>]*>)"
)
"""Values that only hold a place, or name a type."""

_PRIVATE_KEY = r"-----BEGIN ([A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----.*?(?:-----END \1-----|\Z)"
_ADDRESS_PASSWORD = r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@'\"]{0,100}:)[^\s@/'\"]{1,200}(?=@)"
_SCHEME_TOKEN = r"(?i:(\b(?:bearer|basic)\s+))(?=\S*\d)[A-Za-z0-9._~+/=-]{12,}"
_QUOTED = (
    rf"(?i)(['\"]?\b{_SECRET_NAME}['\"]?\s{{0,5}}(?:=>|:=|[:=])\s{{0,5}}(['\"]))"
    rf"(?!{_NO_SECRET}\2)(?:\\.|(?!\2)[^\\\n]){{4,}}(?=\2)"
)
_BARE = (
    rf"(?im)^([ \t]{{0,40}}(?:-[ \t]{{1,5}}|(?:export|set)[ \t]+)?{_SECRET_NAME}"
    r"[ \t]{0,5}[=:][ \t]{0,5})"
    rf"(?!{_NO_SECRET}\s*$)(?=\S*\d)[^\s'\"()\[\]{{}}<>;,]{{6,}}\s*$"
)
"""Without quotes a value needs a digit, or code would be full of secrets;"""
_ENVIRONMENT = (
    r"(?m)(\b[A-Z0-9_]{0,40}(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY)=)"
    rf"(?!(?i:{_NO_SECRET})(?:\s|$))(?!\[)[^\s'\"()\[\]{{}}<>;,$]{{6,}}"
)
"""in the environment it needs none."""
_OPTION = (
    r"(?i)(--?(?:password|passwd|token|secret|api-key|auth-token|access-token)(?:=|\s+))"
    rf"(?!-|{_NO_SECRET}\b)[^\s'\"]{{4,}}"
)
_CURL_USER = r"\bcurl\b[^\n|;&]{0,300}?\s(?:-u\s?|--user[= ])"
_QUOTED_LOGIN = rf"({_CURL_USER}(['\"])[^\s:'\"]{{1,64}}:)(?!\[)[^'\"\n]{{1,200}}(?=\2)"
_LOGIN = (
    rf"({_CURL_USER}[^\s:'\"]{{1,64}}:|\bsshpass\s+-p\s?"
    r"|\b(?:docker|podman|helm)\b[^\n|;&]{0,80}\blogin\b[^\n|;&]{0,200}?\s-p\s"
    r"|\bmysql(?:dump|admin)?\b[^\n|;&]{0,200}?\s-p)"
    r"(?!\[)(?:'[^'\n]{1,200}'|\"[^\"\n]{1,200}\"|[^\s'\"$]{3,200})"
)
"""Options of well-known programs whose names do not tell."""
_MAIL = r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}\b(?!\()"
_HOME = (
    r"(?<![\w/.])(?:/home|/Users)/[^/\s'\":;,<>|)\]]+"
    r"|(?i:\b[A-Z]:(?:\\{1,2}|/)Users(?:\\{1,2}|/)[^\\/\s'\":;,<>|]+)"
)

_RULES = (
    (re.compile(_PRIVATE_KEY, re.DOTALL), "[private key]"),
    (re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(_ISSUED)})"), "[key]"),
    (re.compile(_ADDRESS_PASSWORD), r"\1[password]"),
    (re.compile(_SCHEME_TOKEN), r"\1[token]"),
    (re.compile(_QUOTED), r"\1[secret]"),
    (re.compile(_BARE), r"\1[secret]"),
    (re.compile(_ENVIRONMENT), r"\1[secret]"),
    (re.compile(_OPTION), r"\1[secret]"),
    (re.compile(_QUOTED_LOGIN), r"\1[password]"),
    (re.compile(_LOGIN), r"\1[password]"),
    (re.compile(_MAIL), "[mail address]"),
    (re.compile(_HOME), "~"),
)


class Redactor:
    """Redacts texts and counts what it blanked."""

    def __init__(self, home: str = "") -> None:
        """``home``: the person's home folder, should it lie elsewhere than usual."""
        self.blanked = 0
        self._home = home.rstrip("/") if home.count("/") > 1 else ""

    def redact(self, text: str) -> str:
        if self._home:
            self.blanked += text.count(self._home)
            text = text.replace(self._home, "~")
        for pattern, blank in _RULES:
            text, count = pattern.subn(blank, text)
            self.blanked += count
        return text
