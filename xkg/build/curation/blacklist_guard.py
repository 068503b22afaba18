"""Keeps blacklisted papers and repositories, and copies of those repositories, out of a graph."""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from xkg.blacklist import Blacklist
from xkg.build.repositories.checkout import Checkout, fetch_repository
from xkg.build.repositories.copies import RepositoryFingerprint, copied, fingerprint, first_commits
from xkg.errors import InputError
from xkg.files import private_folder, write_whole


class BlacklistGuard:
    """Refuses blacklisted papers and repositories. `cache` is the folder for fetched repositories. `folder` stores the
    fingerprints of blacklisted repositories, so each is fetched only once. Nothing else from blacklisted repositories
    is used.

    `note` receives a line for each repository that cannot be fetched. Copies of such a repository are not
    recognised."""

    def __init__(
        self, blacklist: Blacklist, cache: Path, folder: Path, note: Callable[[str], None] = lambda _: None
    ) -> None:
        self.blacklist = blacklist
        self._cache, self._folder, self._note = cache, folder, note
        self._known: dict[str, RepositoryFingerprint] | None = None

    def paper(self, arxiv_id: str | None, doi: str | None, title: str) -> str | None:
        """Returns the reason for refusing this paper, or None if it is allowed."""
        return self.blacklist.paper(arxiv_id, doi, title)

    def repository(self, url: str) -> str | None:
        """Returns the reason for refusing the repository at this address, or None if it is allowed. Considers only the
        repository's name."""
        return self.blacklist.repository(url)

    def copy(self, checkout: Checkout) -> str | None:
        """Returns the reason for refusing a fetched repository, or None if it is allowed. Checks the address, history
        and files of the repository."""
        url = checkout.repository.url
        if url and (named := self.repository(url)) is not None:
            return named
        known = self.fingerprints()
        if not known:
            return None
        print_of = fingerprint(checkout, first_commits(url))
        for name, blacklisted in known.items():
            if (shown := copied(print_of, blacklisted)) is not None:
                return f"it is a copy of {name}, which is blacklisted: {shown}"
        return None

    def fetched(self, url: str, commit: str | None = None) -> str | None:
        """Works like `copy`, but takes an address. Raises `InputError` if the repository cannot be fetched."""
        if (named := self.repository(url)) is not None or not self.fingerprints():
            return named
        return self.copy(fetch_repository(f"{url}@{commit}" if commit else url, self._cache))

    def fingerprints(self) -> dict[str, RepositoryFingerprint]:
        """Returns the fingerprints of all fetchable blacklisted repositories, keyed by name."""
        if self._known is None:
            found = {name: self._fingerprint(name) for name in self.blacklist.repositories}
            self._known = {name: value for name, value in found.items() if value is not None}
        return self._known

    def _fingerprint(self, name: str) -> RepositoryFingerprint | None:
        path = self._folder / (hashlib.sha256(name.encode()).hexdigest()[:32] + ".json")
        with suppress(OSError, ValidationError):
            return RepositoryFingerprint.model_validate_json(path.read_bytes())
        url = f"https://{name}"
        try:
            value = fingerprint(fetch_repository(url, self._cache / "blacklisted"), first_commits(url))
        except InputError as error:
            self._note(f"copies of {name} cannot be recognised: {error}")
            return None
        with suppress(OSError):
            private_folder(self._folder.parent)
            private_folder(self._folder)
            write_whole(path, value.model_dump_json().encode())
        return value
