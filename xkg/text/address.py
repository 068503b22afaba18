"""Reduces all spellings of a server's or repository's address to one canonical form.

Addresses are compared and fetched only in this form, so a spelling that another program parses differently cannot
bypass a check."""

import re
import socket
from collections.abc import Iterable, Sequence
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

_PORTS = {"https": 443, "http": 80, "ssh": 22, "git": 9418}
_SCHEME = re.compile(r"(?i)(?:git\+)?(https?(?=:)|(?:ssh|git)(?=:/)):/*")
_SCP = re.compile(r"(?:[^@/:]+@([^@/:]+):|([^@/:]+):(?!\d+(?:/|$)))(?!//)")
_GITHUB, _GIST, _GITLAB, _HUGGING_FACE = "github.com", "gist.github.com", "gitlab.com", "huggingface.co"
# Maps each forge's hosts, including any path before the repository. All these forges ignore case in names.
_FORGES = {
    place: forge
    for forge, places in {
        _GITHUB: "github.com www.github.com ssh.github.com codeload.github.com raw.githubusercontent.com "
        "raw.github.com api.github.com/repos uploads.github.com/repos media.githubusercontent.com/media "
        "github.dev github1s.com vscode.dev/github colab.research.google.com/github nbviewer.org/github "
        "mybinder.org/v2/gh deepwiki.com gitingest.com",
        _GIST: "gist.github.com gist.githubusercontent.com api.github.com/gists",
        _GITLAB: "gitlab.com www.gitlab.com altssh.gitlab.com gitlab.com/api/v4/projects",
        "bitbucket.org": "bitbucket.org www.bitbucket.org altssh.bitbucket.org api.bitbucket.org/2.0/repositories",
        "codeberg.org": "codeberg.org www.codeberg.org codeberg.org/api/v1/repos",
        "gitee.com": "gitee.com www.gitee.com",
        "git.sr.ht": "git.sr.ht",
        _HUGGING_FACE: "huggingface.co www.huggingface.co hf.co huggingface.co/api huggingface.co/api/models",
    }.items()
    for place in places.split()
}
# GitLab does not allow projects with these names: https://docs.gitlab.com/user/reserved_names.
_WITHIN_GITLAB = frozenset(
    "- badges blame blob builds commits create create_dir edit files find_file new preview raw refs tree update "
    "wikis".split()
)
_WITHIN_ANY = frozenset("- blob src tree".split())  # used for GitLab, Gitea and GitHub on unknown servers
_WITHIN_HUGGING_FACE = frozenset("blob commit commits discussions raw resolve tree".split())
_SHOWN = re.compile(
    r"(?:-/)?(?:tree|blob|blame|edit|raw|resolve|commits?|src/(?:branch|tag|commit)|src|branch|tags?"
    r"|releases/(?:tag|download)|(?<=-/)releases)/(?:refs/(?:heads|tags)/)?(?P<reference>[^/]+)(?:/item(?=/|$))?"
)
# In GitLab's addresses, the reference is a separate segment before the file name.
_ARCHIVED = re.compile(
    r"(?:-/archive/(?P<of_gitlab>.+)/[^/]+|(?:archive|get|zip|tar\.gz|legacy\.(?:zip|tar\.gz)|(?:zip|tar)ball)"
    r"/(?:refs/(?:heads|tags)/)?(?P<reference>.+?)(?:\.(?:zip|tar(?:\.gz|\.bz2)?|tgz|bundle))?)"
)
_RAW = frozenset(("raw.githubusercontent.com", "raw.github.com", "media.githubusercontent.com", "mybinder.org"))
"""Hosts whose addresses contain a reference directly after the repository."""
_PAPERS = re.compile(r"(?:[\w-]+\.)*(?:(?:arxiv|ar5iv|alphaxiv|doi)\.org|(?:scirate|emergentmind)\.com|papers\.cool)")
"""Hosts with papers but no repositories."""
_GIST_ID = re.compile(r"(?i)[0-9a-f]{20}|[0-9a-f]{32}|\d{1,10}")


class Address(NamedTuple):
    """A parsed address. `host` is in lower-case ASCII without a trailing dot. IP addresses are in canonical form.
    `path` is as written, without the query and fragment."""

    scheme: str
    user: str
    host: str
    port: int
    path: str

    @property
    def server(self) -> str:
        """Returns the host, with the port if it is not the scheme's default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def words(self) -> list[str]:
        """Returns the decoded segments of the path, without dot segments or empty segments."""
        return _walked(unquote(word, errors="surrogateescape") for word in self.path.split("/"))

    @property
    def is_loopback(self) -> bool:
        """Returns whether the host is `localhost` or a loopback address. Names are not resolved."""
        try:
            return self.host == "localhost" or ip_address(self.host).is_loopback
        except ValueError:
            return False


class RepositoryAddress(NamedTuple):
    """A repository's address. `server` has the same meaning as in `Address`. `path` is the repository's path as
    written, without `.git`, and `within` is a path inside the repository. `reference` is the text after `@`, or '' if
    there is no `@`."""

    server: str
    path: str
    within: str
    reference: str

    @property
    def url(self) -> str:
        return f"https://{self.server}/{self.path}"

    @property
    def is_of_forge(self) -> bool:
        """Returns whether the server is a known forge. Every repository on a known forge also has an https address."""
        return self.server in _FORGES

    @property
    def name(self) -> str:
        """Returns the canonical name, which is the same for all addresses of a repository."""
        return f"{self.server}/{self.path.lower() if self.is_of_forge else self.path}"


def address(url: str) -> Address:
    """Parses an address. Raises `ValueError` unless the text is an https, http, ssh or git address that all programs
    parse alike."""
    plain = re.split(r"[?#]", url, maxsplit=1)[0]
    if not plain.isprintable() or " " in plain or "\\" in plain:
        raise ValueError("it contains characters that are not allowed in an address")
    parts = urlsplit(plain)
    if parts.scheme not in _PORTS:
        raise ValueError("it does not start with a known scheme")
    port = _PORTS[parts.scheme] if parts.port is None else parts.port
    user = parts.netloc.rpartition("@")[0]
    return Address(parts.scheme, user, canonical_host(parts.hostname or ""), port, parts.path)


def canonical_host(host: str) -> str:
    """Returns a host name or IP address in the form that `Address` uses, without brackets. Raises `ValueError` for
    anything else."""
    host = unquote(host, errors="strict")
    if ":" in host:
        number = IPv6Address(host)
        return str(number.ipv4_mapped or number)
    if not host.isascii():
        import idna

        host = idna.encode(host, uts46=True).decode()
    host = host.lower().removesuffix(".")
    if re.search(r"(?:^|\.)(?:\d+|0x[0-9a-f]*)$", host):
        try:
            return socket.inet_ntoa(socket.inet_aton(host))
        except OSError as error:
            raise ValueError("it is not an IP address") from error
    if not re.fullmatch(r"(?!.*\.\.)[a-z0-9_-][a-z0-9_.-]{0,252}", host):
        raise ValueError("it is not a host name")
    return host


def same_server(one: str, other: str) -> bool:
    """Returns whether two addresses refer to the same server. The ports must be equal, or each port must be the default
    for its scheme."""
    try:
        return address(one).server == address(other).server
    except ValueError:
        return False


def repository_address(text: str) -> RepositoryAddress | None:
    """Returns the repository behind an address. The address may be a web page, an API URL or a git remote, with or
    without a scheme, optionally with `@reference`. If the address is a page for a branch, tag or commit on a forge, the
    reference is this branch, tag or commit. Returns None for anything else."""
    url, is_bare = _as_url(text.strip())
    try:
        place = address(url)
    except ValueError:
        return None
    if (is_bare and "." not in place.host and place.host != "localhost") or _PAPERS.fullmatch(place.host):
        return None
    path, at, reference = place.path.rpartition("@")
    if not at or path.endswith("/") or not path:
        path, reference = place.path, ""
    forge, words = _forge(place.host, place._replace(path=path).words)
    repository, within = _parted(forge, words)
    if forge != _GIST and len(repository) < 2:
        return None
    if place.host in _RAW and within:
        within = ["raw", *within]
    if not reference and (shown := _ARCHIVED.fullmatch("/".join(within))):
        reference, within = shown["of_gitlab"] or shown["reference"], []
    elif not reference and (shown := _SHOWN.match("/".join(within))):
        reference, within = shown["reference"], within[shown[0].count("/") + 1 :]
    server = forge or (place.host if place.scheme == "ssh" else place.server)
    return RepositoryAddress(server, _quoted(repository), _quoted(within), reference) if repository else None


def _as_url(text: str) -> tuple[str, bool]:
    """Returns the text as a URL, and whether it was bare, that is, had neither a scheme nor a user name."""
    if match := _SCHEME.match(text):
        return f"{match[1]}://{text[match.end() :]}", False
    if "://" not in text and (match := _SCP.match(text)):
        return f"ssh://{match[1] or match[2]}/{text[match.end() :]}", match[1] is None
    return (text, False) if "://" in text else (f"https://{text.removeprefix('//')}", True)


def _walked(words: Iterable[str]) -> list[str]:
    walked: list[str] = []
    for word in words:
        if word == "..":
            del walked[-1:]
        elif word not in ("", "."):
            walked.append(word)
    return walked


def _forge(host: str, words: list[str]) -> tuple[str, list[str]]:
    for count in (3, 2, 1, 0):
        forge = _FORGES.get("/".join([host, *map(str.lower, words[:count])]), "") if count <= len(words) else ""
        if forge:
            rest = words[count:]
            if forge == _GITLAB and count:  # GitLab's API takes a path as a single segment
                return forge, [*_walked(rest[0].split("/")), "-", *rest[1:]] if rest else []
            words = rest
            break
    else:
        forge = ""
    return forge, _walked("/".join(words).split("/"))


def _parted(forge: str, words: list[str]) -> tuple[list[str], list[str]]:
    if forge == _GIST:
        found = [name for word in words[1::-1] if _GIST_ID.fullmatch(name := _without_git(word, forge))]
        return found[:1], words[2:]
    count = len(words)
    if forge == _HUGGING_FACE:
        if words[:1] == ["papers"]:
            return [], words
        count = 3 if words[:1] and words[0].lower() in ("datasets", "spaces") else 2
        count = next((at for at, word in enumerate(words[:count]) if word in _WITHIN_HUGGING_FACE), count)
    elif forge and forge != _GITLAB:
        count = 2
    else:
        within = _WITHIN_GITLAB if forge else _WITHIN_ANY
        for at, word in enumerate(words[1:], start=1):
            if word in within and at > 1:
                count = at
                break
            if word != _without_git(word, forge):
                count = at + 1
                break
    repository = words[:count]
    if repository:
        repository[-1] = _without_git(repository[-1], forge)
    return ([] if repository[-1:] in ([""], ["."], [".."]) else repository), words[count:]


def _without_git(word: str, forge: str) -> str:
    """Removes every trailing `.git`, since a remaining `.git` would make the name look different."""
    return re.sub(r"(?i:\.git)+$" if forge else r"(?:\.git)+$", "", word)


def _quoted(words: Sequence[str]) -> str:
    return "/".join(quote(word, safe="!$&'()*+,;=:", errors="surrogateescape") for word in words)
