"""Settings: flags over environment (`XKG_*`, nested with `__`) over `xkg.yaml` in the working folder over defaults."""

import os
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    YamlConfigSettingsSource,
)

from xkg.errors import ConfigError
from xkg.model import Level


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EmbeddingSettings(_Section):
    """`weights`: a folder with `tokenizer.json` and `model.safetensors` or `.onnx`; None finds an installed one."""

    model: str = "all-MiniLM-L6-v2"
    weights: Path | None = None
    threads: int = Field(default=2, ge=1)


class SandboxSettings(_Section):
    """`auto` takes bubblewrap, and Landlock where that cannot be had. `unsafe-subprocess` runs code that nobody trusts
    with your own rights: it must be asked for in words."""

    runner: Literal["auto", "bubblewrap", "landlock", "unsafe-subprocess"] = "auto"
    seconds: float = Field(default=60, gt=0)
    memory_mb: int = Field(default=4096, ge=64)


class EnvironmentSettings(_Section):
    """Packages for the code of papers. `max_mb` bounds one environment as it lies on disk; 0 makes none. `total_mb`
    bounds all of a graph: those least recently used go first, never one in use."""

    max_mb: int = Field(default=1500, ge=0)
    total_mb: int = Field(default=6000, ge=0)


class ArxivSettings(_Section):
    """`url`: where the API, the sources and the PDFs are; another one for a mirror."""

    url: str = Field(default="https://export.arxiv.org", pattern=r"^https?://[^\s{}?#]+$")


class PruneSettings(_Section):
    """None: the highest rung that could be tried on this machine, at least `parsed`."""

    min_level: Level | None = None


class ServeSettings(_Section):
    """`roots`: the folders under which a client may name working copies; None is the folder that `xkg serve` was
    started in, unless that holds somebody's home folder; empty opens none."""

    roots: tuple[Path, ...] | None = None

    @field_validator("roots", mode="before")
    @classmethod
    def _as_in_a_path(cls, value: object) -> object:
        """The environment gives `/a:/b`, as PATH does."""
        return tuple(filter(None, value.split(os.pathsep))) if isinstance(value, str) else value


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix="XKG_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        yaml_file="xkg.yaml",
        extra="forbid",
        frozen=True,
    )

    kg: Path = Path("storage/default")
    arxiv: ArxivSettings = ArxivSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    sandbox: SandboxSettings = SandboxSettings()
    environment: EnvironmentSettings = EnvironmentSettings()
    prune: PruneSettings = PruneSettings()
    serve: ServeSettings = ServeSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, YamlConfigSettingsSource(settings_cls)


def load(**flags: object) -> Settings:
    """The settings in force; flags that are None do not count. Raises `ConfigError` naming the setting."""
    try:
        return Settings(**{name: value for name, value in flags.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"setting {name!r}: {first['msg']}; mend it in xkg.yaml or the environment") from error
    except SettingsError as error:
        raise ConfigError(
            f"the environment's XKG_* cannot be read: {error}; set one value each (XKG_EMBEDDING__THREADS)"
        ) from error
    except Exception as error:  # the YAML reader raises its own tree
        reason = " ".join(str(error).split())
        raise ConfigError(f"xkg.yaml is no list of settings ({reason}); README.md shows what it may hold") from error
