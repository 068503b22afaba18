"""How long a server asks to wait before the next try: the header `Retry-After` (RFC 9110, 10.2.3)."""

import email.utils


def seconds_to_wait(header: str | None, now: float) -> float:
    """Seconds from a number, or from `now` (seconds since 1970) to a date; 0 for none, for one that is neither, and for
    a time that has passed."""
    try:
        seconds = float(header or "")
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header or "").timestamp() - now
        except (TypeError, ValueError, OverflowError):
            return 0.0
    return seconds if 0 < seconds < float("inf") else 0.0
