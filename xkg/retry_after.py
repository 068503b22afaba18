"""Parses the `Retry-After` header, which tells clients how long to wait before a retry (RFC 9110, 10.2.3)."""

import email.utils


def seconds_to_wait(header: str | None, now: float) -> float:
    """Returns the number of seconds to wait according to a header, which contains a number or a date. `now` is in
    seconds since 1970. Returns 0 if the header is missing, invalid or in the past."""
    try:
        seconds = float(header or "")
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header or "").timestamp() - now
        except (TypeError, ValueError, OverflowError):
            return 0.0
    return seconds if 0 < seconds < float("inf") else 0.0
