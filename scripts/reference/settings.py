"""Generates the settings reference."""

import typing
from collections.abc import Iterator

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from scripts.reference.markdown import page, prose, table
from scripts.reference.type_names import type_in_words
from xkg.config import Settings


def settings() -> str:
    intro = (
        "Flags override the environment, which overrides `xkg.yaml` in the working folder, which overrides the "
        "defaults. Write a setting `section.name` in `xkg.yaml` as `section: {name: value}`, and in the environment as "
        "`XKG_SECTION__NAME`. Keys for language models are read only from the environment; see "
        "[Language models](../howto/models.md)."
    )
    return page("Settings", "xkg/config.py", [intro, *_section(Settings, "")])


def _section(model: type[BaseModel], prefix: str) -> Iterator[str]:
    plain = {name: field for name, field in model.model_fields.items() if not _is_section(field)}
    if prefix:
        yield f"## {prefix.rstrip('.')}"
        yield prose(model.__doc__)
    if plain:
        rows = (
            (f"`{prefix}{name}`", f"`{_variable(prefix + name)}`", _default(field), type_in_words(field.annotation))
            for name, field in plain.items()
        )
        yield table(("in xkg.yaml", "environment", "default", "type"), rows)
    for name, field in model.model_fields.items():
        if _is_section(field):
            yield from _section(typing.cast(type[BaseModel], field.annotation), f"{prefix}{name}.")


def _is_section(field: FieldInfo) -> bool:
    return isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)


def _variable(setting: str) -> str:
    return "XKG_" + setting.upper().replace(".", "__")


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if value is None or value in ((), {}):
        return "none"
    return "`" + (", ".join(map(str, value)) if isinstance(value, tuple) else str(value)) + "`"
