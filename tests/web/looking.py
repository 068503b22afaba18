"""A page of a browser that fails a test for what no page may do."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from playwright.sync_api import Browser, Page

WIDE, NARROW = 1440, 390


@contextmanager
def looking(
    browser: Browser, base: str, width: int = WIDE, scheme: Literal["light", "dark"] = "light"
) -> Iterator[Page]:
    """Errors of scripts, requests elsewhere and violations of the content security policy fail the test."""
    faults: list[str] = []
    context = browser.new_context(base_url=base, viewport={"width": width, "height": 900}, color_scheme=scheme)
    try:
        page = context.new_page()
        page.add_init_script(
            "document.addEventListener('securitypolicyviolation', e => console.error(e.violatedDirective))"
        )
        page.on("pageerror", lambda error: faults.append(f"script: {error}"))
        page.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
        page.on(
            "request",
            lambda asked: None if asked.url.startswith((base, "data:", "file:")) else faults.append(asked.url),
        )
        yield page
    finally:
        context.close()
    assert faults == []
