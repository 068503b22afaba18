"""The form for running a script on a technique's code, and the script's output."""

import base64
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup, escape
from starlette.requests import Request

from xkg.errors import XkgError
from xkg.serve.answers.quoting import visible
from xkg.serve.running.answer import RunAnswer
from xkg.web.access.guard import page_caller
from xkg.web.site import SECURITY, Site

WITH_PICTURES = SECURITY["content-security-policy"].replace("img-src 'self'", "img-src 'self' data:")


class Trial(NamedTuple):
    """The form and its result. `script` is the text in the form. If the caller may not run scripts or the code cannot
    be run, `script` is None and `error` is the reason. `answer` is set after a run."""

    script: Markup | None
    error: str = ""
    answer: RunAnswer | None = None
    output: str = ""
    pictures: Sequence[Markup] = ()


def trial(site: Site, request: Request, technique: str, script: str | None) -> Trial | None:
    """Runs `script`, if given, and returns the form. Returns None if this server does not run scripts."""
    if site.runs is None:
        return None
    caller = page_caller(request)
    try:
        if script is None:
            return Trial(escape(site.runs.example(technique, caller)))
        answer = site.runs.run(technique, script.replace("\r\n", "\n"), caller)
    except XkgError as error:
        return Trial(None if script is None else escape(script), str(error))
    return Trial(
        escape(script),
        answer.error,
        answer,
        visible(answer.output),
        [_image(file.name, file.media_type, file.content) for file in answer.pictures],
    )


def _image(name: str, media_type: str, content: bytes) -> Markup:
    """Embeds a picture as an image. Browsers do not run scripts or load resources in images."""
    return Markup(
        '<figure class="picture"><img alt="{}" src="data:{};base64,{}"><figcaption>{}</figcaption></figure>'
    ).format(name, media_type, base64.b64encode(content).decode(), name)
