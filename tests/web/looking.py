"""Opens pages in a browser, and fails a test if a page does something forbidden."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from playwright.sync_api import Browser, Page

WIDE, NARROW = 1440, 390


@contextmanager
def looking(
    browser: Browser, base: str, width: int = WIDE, scheme: Literal["light", "dark"] = "light"
) -> Iterator[Page]:
    """Fails the test for script errors, requests to other sites and violations of the content security policy."""
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
