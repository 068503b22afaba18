"""Settings: flags over environment (`XKG_*`, nested with `__`) over `xkg.yaml` in the working folder over defaults."""

import difflib
import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import SplitResult, urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    YamlConfigSettingsSource,
)

from xkg.errors import ConfigError
from xkg.model import Level
from xkg.operating_system import owned_by_another
from xkg.text.address import address

OPENAI_URL = "https://api.openai.com/v1"
NEO4J_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")


class _Section(BaseModel):
    # The value may be a secret in the wrong place: an error names the setting, never its value.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


def plain_url(url: str) -> str:
    """Returns `url` unchanged. Raises `ValueError` if it is not an endpoint address, or contains a key."""
    parts = _plain_parts(url, ("http", "https"))
    if parts is None or not re.fullmatch(r"(?:api-version=[\w.-]+)?", parts.query):
        raise ValueError("give http(s)://host/path, such as http://localhost:11434/v1; a key has no place here")
    return url


def neo4j_url(url: str) -> str:
    """Returns `url` unchanged. Raises `ValueError` if it is not a Neo4j address, or contains a user or password."""
    parts = _plain_parts(url, NEO4J_SCHEMES)
    if parts is None or parts.path.strip("/"):
        raise ValueError(
            "give neo4j+s://host, bolt://host:7687 or their like; user and password come from NEO4J_USERNAME and "
            "NEO4J_PASSWORD, or a file that store.credentials names"
        )
    return url


def _plain_parts(url: str, schemes: Collection[str]) -> SplitResult | None:
    """Returns the parts of an address; None if it has a user or fragment, or another scheme."""
    try:
        parts = urlsplit(url)
        plain = parts.scheme in schemes and parts.hostname and parts.port != 0
    except ValueError:
        return None
    return (
        parts if plain and "@" not in parts.netloc and not parts.fragment and url.isascii() and " " not in url else None
    )


def _listed(value: object) -> object:
    """Environment variables hold `a, b`."""
    return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value


Url = Annotated[str, AfterValidator(plain_url)]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]


class EmbeddingSettings(_Section):
    """The model that embeds texts. Choose another one for other languages, for a GPU, or to use an existing server.

    `provider`: `onnx` runs MiniLM and similar models on the CPU; `sentence-transformers` (extra `st`) runs any of its
    models, on a GPU if there is one; `openai` sends texts to `base_url`, any compatible server, with the key in
    `XKG_EMBEDDING_KEY`, and requires `model`. `weights` is a folder with `tokenizer.json` and `model.safetensors` or
    `.onnx`; None finds an installed one."""

    provider: Literal["onnx", "sentence-transformers", "openai"] = "onnx"
    model: str = Field(default="all-MiniLM-L6-v2", min_length=1)
    weights: Path | None = None
    threads: int = Field(default=2, ge=1)
    base_url: Url = OPENAI_URL

    @property
    def vectors(self) -> str:
        """Name of the vectors: vectors with equal names are comparable. Local runtimes of one model agree; a server's
        model with the same name may differ."""
        return f"openai:{self.model}" if self.provider == "openai" else self.model

    @model_validator(mode="after")
    def _named_model(self) -> Self:
        if self.provider == "openai" and "model" not in self.model_fields_set:
            raise ValueError("provider openai needs embedding.model, such as text-embedding-3-small")
        return self


class SandboxSettings(_Section):
    """The sandbox that runs untrusted code, and the limits of one run.

    `auto` picks bubblewrap, else Landlock, else a podman or docker container. `unsafe-subprocess` runs untrusted code
    with your own rights; it is never chosen by default. `seconds` and `memory_mb` limit one run."""

    runner: Literal["auto", "bubblewrap", "landlock", "container", "unsafe-subprocess"] = "auto"
    seconds: float = Field(default=60, gt=0)
    memory_mb: int = Field(default=4096, ge=64)


class EnvironmentSettings(_Section):
    """Packages for code from papers, in one folder that all of a user's graphs share.

    `folder` is by default `xkg/environments` in the user's cache folder. `max_mb` limits one environment on disk; 0
    installs nothing. `total_mb` limits all of them: the least recently used are removed first, never one in use. By
    default both follow from free disk space: half of it for all environments, at most 12,000 MB of that for one.
    `cpu_index` serves PyTorch builds without CUDA, which are installed if this machine has no NVIDIA GPU and the index
    can be reached: `auto` is PyTorch's own index, unless pip or uv are configured for a registry other than PyPI;
    `none` always uses the registry's builds. `python_downloads` lets uv download a Python version that a repository
    needs. `packages` are requirement lines (`h5py>=3`) of packages to install in addition to those that code imports;
    with `cpu`, code for CUDA runs on the CPU."""

    folder: Path | None = None
    cpu_index: Literal["auto", "none"] | Url = "auto"
    python_downloads: bool = False
    max_mb: int | None = Field(default=None, ge=0)
    total_mb: int | None = Field(default=None, ge=0)
    packages: Names = ()
    cpu: bool = False

    @field_validator("packages")
    @classmethod
    def _from_the_index(cls, lines: tuple[str, ...]) -> tuple[str, ...]:
        for line in lines:
            try:
                requirement = Requirement(line)
            except InvalidRequirement:
                raise ValueError(f"{line!a} names no package: give a name, or name>=version") from None
            if requirement.url or requirement.extras:
                what = "an address" if requirement.url else "extras"
                raise ValueError(f"{line!a} has {what}: packages come from the index, each by its own name")
        return lines


class Price(_Section):
    """Dollars per million tokens; `cached` is the price of prompt tokens that the endpoint has cached."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)


class LlmSettings(_Section):
    """The language model, its endpoint, and its spending limits.

    `model` is any model of an endpoint that speaks OpenAI's protocol; a program of this machine (`claude-code`,
    `codex`, `gemini`, `opencode`, each optionally with `:MODEL`; `command:…` for any other, which no file may name);
    `caller` for the agent that asks for a job; or `none` for static analysis only.

    A cheaper or stronger model can do part of the work: `paper_model` reads papers, `code_model` writes code,
    `verifier_model` judges it, `stronger_model` is asked if an agent's usual model fails, and `expert_model` if all
    others fail; a role without its own model uses `model`. `base_url` None is `OPENAI_BASE_URL` of the environment,
    else OpenAI's. `window` is the context length of the smallest model in tokens; `seconds` limits a call;
    `concurrency` is the number of parallel calls; `max_cost` limits the dollars for one paper (all its builds
    together), and for the questions of one day; `max_total_cost` those for all papers and questions of the graph.
    `prices` extend and override the known ones, by model. `parameters` are added to the body of each request
    (`{reasoning_effort: low}`), and `headers` to its headers, such as Entra tokens for an Azure endpoint; `base_url`
    may end in Azure's `?api-version=…`."""

    model: str = Field(default="o4-mini", min_length=1)
    paper_model: str | None = None
    code_model: str | None = None
    verifier_model: str | None = None
    stronger_model: str | None = None
    expert_model: str | None = None
    base_url: Url | None = None
    window: int = Field(default=128_000, ge=4_000)
    seconds: float = Field(default=300, gt=0)
    concurrency: int = Field(default=4, ge=1, le=64)
    max_cost: float | None = Field(default=None, ge=0)
    max_total_cost: float | None = Field(default=None, ge=0)
    prices: dict[str, Price] = {}
    parameters: dict[str, Any] = {}
    headers: dict[str, str] = Field(default={}, repr=False)


class ArxivSettings(_Section):
    """`url` is the address of the API, the sources and the PDFs; change it to use a mirror."""

    url: str = Field(default="https://export.arxiv.org", pattern=r"^https?://[^\s{}?#]+$")


Place = Annotated[str, Field(pattern=r"^(none|https?://[^\s{}?#]+)$")]


class CurationSettings(_Section):
    """APIs that `xkg curate` queries in addition to arXiv: an address (change it to use a mirror), or `none` to skip
    that API. Keys come from `OPENALEX_API_KEY` and `GITHUB_TOKEN`; both are optional and raise rate limits."""

    openalex: Place = "https://api.openalex.org"
    github: Place = "https://api.github.com"


class PruneSettings(_Section):
    """Techniques whose code is below `min_level` are hidden. None means the highest level that this machine can check
    (at least `parsed`) in builds with a model, and no minimum in other builds."""

    min_level: Level | None = None


class StoreSettings(_Section):
    """Where the graph is stored: `url` None is the graph's folder; otherwise a Neo4j (`neo4j+s://host`,
    `bolt://host:7687` or similar), which a team shares. User and password come from `credentials`, a file as Aura
    provides it (lines `NEO4J_USERNAME=…` and `NEO4J_PASSWORD=…`), or from the environment variables of these names."""

    url: Annotated[str, AfterValidator(neo4j_url)] | None = None
    database: str = Field(default="neo4j", min_length=1)
    credentials: Path | None = None


class HttpSettings(_Section):
    """Addresses and load limits of the HTTP server; each worker counts separately.

    `url` is the address that clients use if it differs from the bound one, for example behind a proxy; `hosts` are
    other allowed names in the Host header, `origins` the web pages (`https://app.example.org`) that may call.
    `per_minute` is the number of requests of one token, or of one address without a token (0: unlimited); `concurrency`
    the number of requests at work, `queue` of those waiting. At most `connections` may be open; requests
    beyond them are refused. A request must arrive within `request_seconds`."""

    url: str | None = Field(default=None, pattern=r"^https?://[^\s/@?#]+(/[^\s?#]*)?$")
    hosts: Names = ()
    origins: Names = ()
    per_minute: int = Field(default=1200, ge=0)
    concurrency: int = Field(default=8, ge=1, le=256)
    queue: int = Field(default=256, ge=0)
    connections: int = Field(default=1024, ge=1)
    request_seconds: float = Field(default=20, gt=0)


class OAuthSettings(_Section):
    """The authorization server whose access tokens (JWT) the HTTP server accepts; None accepts no tokens.

    `audience` is the audience that tokens must be issued for, by default the server's address; `jwks` is the address of
    the issuer's keys, if its metadata does not include it. `types` lists the accepted values of the token header `typ`.
    Add `JWT` if the issuer's access tokens have that type or none, but only if none of its other tokens has the scope
    `read` and this audience."""

    issuer: str | None = Field(default=None, pattern=r"^https?://[^\s/@?#]+(/[^\s?#]*)?$")
    audience: str | None = Field(default=None, min_length=1)
    jwks: str | None = Field(default=None, pattern=r"^https?://[^\s/@?#]+(/[^\s#]*)?$")
    types: Names = ("at+jwt",)

    @field_validator("issuer", "jwks")
    @classmethod
    def _safe(cls, url: str | None) -> str | None:
        """Requires https, since anyone who can change the keys in transit can forge tokens."""
        if url is not None and not (place := address(url)).is_loopback and place.scheme != "https":
            raise ValueError("must be https, or on this machine")
        return url


class ServeBuildSettings(_Section):
    """Builds that clients of the server request. `allowed` enables them; over HTTP a caller also needs a token with the
    scope `build`. Repositories are fetched only from `hosts`, because the server may reach networks that its callers
    cannot. Each caller may request `per_day` builds a day, and each build may spend `llm.max_cost`."""

    allowed: bool = False
    hosts: Names = (
        "github.com",
        "gitlab.com",
        "bitbucket.org",
        "codeberg.org",
        "huggingface.co",
    )
    per_day: int = Field(default=24, ge=1)


class ServeAgentSettings(_Section):
    """Runs of `xkg implement` that clients of the server request. `allowed` enables them; over HTTP a caller also needs
    a token with the scope `agents`. Starter code comes from `serve.build.hosts` or from under the roots. Each caller
    may request `per_day` runs a day, each of which may spend `llm.max_cost`."""

    allowed: bool = False
    per_day: int = Field(default=8, ge=1)


class ServeRunSettings(_Section):
    """Scripts that clients of the server run on code from the graph, in the sandbox. `allowed` enables them; over HTTP
    a caller also needs a token with the scope `run`. Each caller may start `per_day` runs a day, one at a time, each of
    at most `seconds`. A worker runs at most `at_once` scripts at a time for all callers together."""

    allowed: bool = False
    per_day: int = Field(default=200, ge=1)
    seconds: float = Field(default=60, gt=0)
    at_once: int = Field(default=2, ge=1, le=64)


class ServeQuestionSettings(_Section):
    """Questions to the language model while a caller waits, such as those of `verify`. An answer waits `wait_seconds`,
    for a task twice as long; most clients give up a call after a minute or later. A longer call continues for at most
    `llm.seconds`, and its answer is stored for the next time."""

    wait_seconds: float = Field(default=20, gt=0)


class ServeSettings(_Section):
    """`roots`: folders that contain the working copies that a client may name (`/a:/b` in the environment); an empty
    list allows no folder. None allows, over stdio, the folder in which `xkg serve` was started, unless that folder
    contains a home folder; over HTTP it allows none. `exclude`: a file that lists papers and repositories, one per line
    (ids, addresses, titles); no answer contains these papers, or papers that were built from these repositories.
    `graphs`: folders of additional graphs that the server answers from (`xkg serve --kg A --kg B`)."""

    roots: tuple[Path, ...] | None = None
    exclude: Path | None = None
    graphs: tuple[Path, ...] = ()
    http: HttpSettings = HttpSettings()
    oauth: OAuthSettings = OAuthSettings()
    build: ServeBuildSettings = ServeBuildSettings()
    agents: ServeAgentSettings = ServeAgentSettings()
    run: ServeRunSettings = ServeRunSettings()
    questions: ServeQuestionSettings = ServeQuestionSettings()

    @field_validator("roots", "graphs", mode="before")
    @classmethod
    def _as_in_a_path(cls, value: object) -> object:
        """Environment variables hold `/a:/b`, like PATH."""
        return tuple(filter(None, value.split(os.pathsep))) if isinstance(value, str) else value


class ImplementSettings(_Section):
    """`xkg implement`. The agent takes at most `steps`. A question is put `tries` times to `llm.code_model`, then
    to `llm.stronger_model` and `llm.expert_model`, the latter at most `expert_calls` times a run. The last `memory`
    steps are in the prompt as they were, older ones as a line each; of an observation of more than `observation`
    characters, the middle is cut.

    `seconds`, `memory_mb` and `disk_mb` limit one run of the code."""

    steps: int = Field(default=80, ge=1)
    tries: int = Field(default=8, ge=1)
    expert_calls: int = Field(default=3, ge=0)
    memory: int = Field(default=3, ge=1)
    observation: int = Field(default=8000, ge=500)
    seconds: float = Field(default=600, gt=0)
    memory_mb: int = Field(default=4096, ge=64)
    disk_mb: int = Field(default=1024, ge=16)


class Settings(BaseSettings):
    """`kg` is the folder of the graph."""

    model_config = SettingsConfigDict(
        env_prefix="XKG_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        yaml_file="xkg.yaml",
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
    )

    kg: Path = Path("storage/default")
    arxiv: ArxivSettings = ArxivSettings()
    curation: CurationSettings = CurationSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    llm: LlmSettings = LlmSettings()
    sandbox: SandboxSettings = SandboxSettings()
    environment: EnvironmentSettings = EnvironmentSettings()
    prune: PruneSettings = PruneSettings()
    store: StoreSettings = StoreSettings()
    serve: ServeSettings = ServeSettings()
    implement: ImplementSettings = ImplementSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, _WorkingFolder(settings_cls)


class _WorkingFolder(YamlConfigSettingsSource):
    """Reads `xkg.yaml` in the working folder. That folder may be a clone of somebody else's repository, so the file
    must belong to the user who runs xkg (or to root), and cannot turn off the sandbox."""

    def __init__(self, settings_cls: type[BaseSettings]) -> None:
        path = Path("xkg.yaml")
        if path.is_file() and owned_by_another(path.stat()):
            raise ConfigError(f"{path.absolute()} belongs to another user: work in another folder, or make it yours")
        super().__init__(settings_cls)
        models = self.yaml_data.get("llm") if isinstance(self.yaml_data, dict) else None
        commands = [
            name
            for name, value in (models.items() if isinstance(models, dict) else ())
            if isinstance(value, str) and value.startswith("command:")
        ]
        if commands:
            raise ConfigError(
                f"setting 'llm.{commands[0]}': a file cannot name a command, because it may come from a repository; "
                "give it with --llm, or in the environment"
            )
        sandbox = self.yaml_data.get("sandbox") if isinstance(self.yaml_data, dict) else None
        if isinstance(sandbox, dict) and sandbox.get("runner") == "unsafe-subprocess":
            raise ConfigError(
                "setting 'sandbox.runner': a file cannot turn off the sandbox, because it may come from a repository; "
                "set XKG_SANDBOX__RUNNER=unsafe-subprocess if you mean it"
            )


def load(**flags: object) -> Settings:
    """Returns the effective settings; flags that are None are ignored. Raises `ConfigError`, which names the invalid
    setting."""
    for variable in os.environ:
        section, *rest = variable.removeprefix("XKG_").lower().split("__")
        if rest and variable.startswith("XKG_") and section not in Settings.model_fields:
            raise ConfigError(_unknown_setting([section, *rest]))
    try:
        return Settings(**{name: value for name, value in flags.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise ConfigError(_unknown_setting([str(part) for part in first["loc"]])) from error
        if first["type"] in ("model_type", "dict_type"):
            own = next(each for each in _names(Settings) if each.startswith(f"{name}."))
            raise ConfigError(f"{name} is a section, not a value: set what belongs to it, such as {own}") from error
        raise ConfigError(f"setting {name!r}: {first['msg']}; correct it in xkg.yaml or the environment") from error
    except SettingsError as error:
        raise ConfigError(
            f"the environment's XKG_* cannot be read: {error}; set one value each (XKG_EMBEDDING__THREADS)"
        ) from error
    except ConfigError:
        raise
    except Exception as error:  # the YAML reader raises its own tree
        reason = " ".join(str(error).split())
        raise ConfigError(
            f"xkg.yaml is not a mapping of settings ({reason}); docs/reference/settings.md lists what it may hold"
        ) from error


def _unknown_setting(path: Sequence[str]) -> str:
    """Returns the message for an unknown setting, with the closest match."""
    name = ".".join(path)
    near = difflib.get_close_matches(name, _names(Settings), 1)
    meant = f"the nearest is {near[0]}" if near else "docs/reference/settings.md lists all"
    return f"there is no setting {name!r}; {meant}: correct it in xkg.yaml or the environment"


def _names(model: type[BaseModel], before: str = "") -> list[str]:
    names = []
    for name, field in model.model_fields.items():
        names.append(before + name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            names += _names(field.annotation, f"{before}{name}.")
    return names
