"""Reads the settings. Flags override the environment (`XKG_*`, nested with `__`), which overrides `xkg.yaml` in the
working folder, which overrides the defaults."""

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
    # The value may be a misplaced secret, so errors name the setting but never show its value.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


def plain_url(url: str) -> str:
    """Returns `url` unchanged. Raises `ValueError` if `url` is not an endpoint address, or contains a key."""
    parts = _plain_parts(url, ("http", "https"))
    if parts is None or not re.fullmatch(r"(?:api-version=[\w.-]+)?", parts.query):
        raise ValueError("use http(s)://host/path, such as http://localhost:11434/v1, without a key")
    return url


def neo4j_url(url: str) -> str:
    """Returns `url` unchanged. Raises `ValueError` if `url` is not a Neo4j address, or contains a user or password."""
    parts = _plain_parts(url, NEO4J_SCHEMES)
    if parts is None or parts.path.strip("/"):
        raise ValueError(
            "use neo4j+s://host, bolt://host:7687 or similar; user and password come from NEO4J_USERNAME and "
            "NEO4J_PASSWORD, or from the file in store.credentials"
        )
    return url


def _plain_parts(url: str, schemes: Collection[str]) -> SplitResult | None:
    """Returns the parts of an address, or None if the address has a user, a fragment or a scheme that is not in
    `schemes`."""
    try:
        parts = urlsplit(url)
        plain = parts.scheme in schemes and parts.hostname and parts.port != 0
    except ValueError:
        return None
    return (
        parts if plain and "@" not in parts.netloc and not parts.fragment and url.isascii() and " " not in url else None
    )


def _listed(value: object) -> object:
    return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value


Url = Annotated[str, AfterValidator(plain_url)]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]


class EmbeddingSettings(_Section):
    """The model that embeds texts. Choose a different model for other languages, a GPU or an existing server.

    The provider `onnx` runs MiniLM and similar models on the CPU. `sentence-transformers` (extra `st`) runs any
    sentence-transformers model, on a GPU if there is one. `openai` sends texts to any compatible server at `base_url`,
    with the key in `XKG_EMBEDDING_KEY`, and requires `model`. `weights` is a folder with `tokenizer.json` and
    `model.safetensors` or `.onnx`; if it is None, xkg searches for an installed model."""

    provider: Literal["onnx", "sentence-transformers", "openai"] = "onnx"
    model: str = Field(default="all-MiniLM-L6-v2", min_length=1)
    weights: Path | None = None
    threads: int = Field(default=2, ge=1)
    base_url: Url = OPENAI_URL

    @property
    def vectors(self) -> str:
        """The name of the vector space. Vectors with the same name are comparable. Local runtimes produce the same
        vectors for a model, but a server's model with the same name may produce different vectors."""
        return f"openai:{self.model}" if self.provider == "openai" else self.model

    @model_validator(mode="after")
    def _named_model(self) -> Self:
        if self.provider == "openai" and "model" not in self.model_fields_set:
            raise ValueError("provider openai requires embedding.model, such as text-embedding-3-small")
        return self


class SandboxSettings(_Section):
    """The sandbox for untrusted code, and the limits for each run.

    `auto` tries bubblewrap, then Landlock, then a podman or docker container. `unsafe-subprocess` runs untrusted code
    with your own permissions; it is never chosen automatically. `seconds` and `memory_mb` limit one run."""

    runner: Literal["auto", "bubblewrap", "landlock", "container", "unsafe-subprocess"] = "auto"
    seconds: float = Field(default=60, gt=0)
    memory_mb: int = Field(default=4096, ge=64)


class EnvironmentSettings(_Section):
    """Settings for the packages that code from papers needs. All of a user's graphs share one folder of packages.

    `folder` defaults to `xkg/environments` in the user's cache folder. `max_mb` limits the size of one environment on
    disk. If `max_mb` is 0, nothing is installed. `total_mb` limits the total size of all environments. The least
    recently used environments are removed first, but never an environment in use. By default, all environments together
    may use half of the free disk space, and each environment may use at most 12,000 MB. `cpu_index` is the index for
    PyTorch builds without CUDA. CPU-only builds are installed if this machine has no NVIDIA GPU and the index can be
    reached. `auto` selects PyTorch's own index, unless pip or uv is configured for a registry other than PyPI. `none`
    always selects the registry's builds. `python_downloads` lets uv download a Python version that a repository needs.
    `packages` are requirement lines (`h5py>=3`) for packages to install besides those that the code imports. If `cpu`
    is set, CUDA code runs on the CPU."""

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
                raise ValueError(f"{line!a} is not a package; use a name, or name>=version") from None
            if requirement.url or requirement.extras:
                what = "an address" if requirement.url else "extras"
                raise ValueError(f"{line!a} contains {what}: packages must come from the index, each by its own name")
        return lines


class Price(_Section):
    """The price in dollars per million tokens. `cached` applies to prompt tokens that the endpoint has cached."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)


class LlmSettings(_Section):
    """The language model, its endpoint, and its spending limits.

    `model` is any model at an OpenAI-compatible endpoint, or a program on this machine: `claude-code`, `codex`,
    `gemini` or `opencode`, each optionally with `:MODEL`. `command:…` runs any other program, but is not allowed in a
    settings file. With `caller`, the agent that requests a job answers its questions; `none` means static analysis
    only.

    Cheaper or stronger models can do some of the work. `paper_model` reads papers, `code_model` writes code, and
    `verifier_model` verifies search results and plans ablations. `stronger_model` is asked if an agent's usual model
    fails, and `expert_model` is asked if all other models fail. A role without its own model uses `model`. If
    `base_url` is None, `OPENAI_BASE_URL` from the environment is used, or else OpenAI's address. `window` is the
    context length of the smallest model, in tokens. `seconds` is the time limit for one call, and `concurrency` is the
    maximum number of parallel calls. `max_cost` is the spending limit in dollars for all builds of one paper, and for
    one day's questions. `max_total_cost` is the limit for all of a graph's papers and questions. `prices` extend and
    override the built-in prices, by model. `parameters` are added to the body of each request (`{reasoning_effort:
    low}`), and `headers` to its headers, such as Entra tokens for an Azure endpoint. `base_url` may end in Azure's
    `?api-version=…`."""

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
    """`url` is the base address for the API, sources and PDFs; change it to use a mirror."""

    url: str = Field(default="https://export.arxiv.org", pattern=r"^https?://[^\s{}?#]+$")


Place = Annotated[str, Field(pattern=r"^(none|https?://[^\s{}?#]+)$")]


class CurationSettings(_Section):
    """The APIs that `xkg curate` queries in addition to arXiv. Each setting is an address (change it to use a mirror),
    or `none` to skip the API. Keys come from `OPENALEX_API_KEY` and `GITHUB_TOKEN`; both are optional and raise the
    rate limits."""

    openalex: Place = "https://api.openalex.org"
    github: Place = "https://api.github.com"


class PruneSettings(_Section):
    """Techniques whose code is below `min_level` are hidden. None means the highest level that this machine can check
    (at least `parsed`) in builds with a model, and no minimum in other builds."""

    min_level: Level | None = None


class StoreSettings(_Section):
    """Where the graph is stored. `url` is the address of a Neo4j database (`neo4j+s://host`, `bolt://host:7687` or
    similar), which a team can share; None stores the graph in its folder. The user and password come from
    `credentials`, a file in Aura's format (lines `NEO4J_USERNAME=…` and `NEO4J_PASSWORD=…`), or from the environment
    variables with the same names."""

    url: Annotated[str, AfterValidator(neo4j_url)] | None = None
    database: str = Field(default="neo4j", min_length=1)
    credentials: Path | None = None


class HttpSettings(_Section):
    """Addresses and load limits of the HTTP server. Each worker applies the limits separately.

    `url` is the address that clients use, if it differs from the bound address, for example behind a proxy. `hosts`
    lists other names allowed in the Host header, and `origins` lists the web pages (`https://app.example.org`) that may
    call the server. `per_minute` limits the requests per token, or per address if there is no token (0: unlimited). At
    most `concurrency` requests run, `queue` requests wait and `connections` are open at a time; requests beyond these
    limits are refused. A request must arrive within `request_seconds`."""

    url: str | None = Field(default=None, pattern=r"^https?://[^\s/@?#]+(/[^\s?#]*)?$")
    hosts: Names = ()
    origins: Names = ()
    per_minute: int = Field(default=1200, ge=0)
    concurrency: int = Field(default=8, ge=1, le=256)
    queue: int = Field(default=256, ge=0)
    connections: int = Field(default=1024, ge=1)
    request_seconds: float = Field(default=20, gt=0)


class OAuthSettings(_Section):
    """The authorization server whose access tokens (JWT) the HTTP server accepts. If `issuer` is None, the HTTP server
    does not accept such tokens.

    `audience` is the required token audience, by default the server's address. `jwks` is the address of the issuer's
    keys, if the issuer's metadata does not include it. `types` lists the accepted values of the `typ` token header. Add
    `JWT` if the issuer's access tokens have that type or none, but only if no other kind of its tokens has this
    audience and the `read` scope."""

    issuer: str | None = Field(default=None, pattern=r"^https?://[^\s/@?#]+(/[^\s?#]*)?$")
    audience: str | None = Field(default=None, min_length=1)
    jwks: str | None = Field(default=None, pattern=r"^https?://[^\s/@?#]+(/[^\s#]*)?$")
    types: Names = ("at+jwt",)

    @field_validator("issuer", "jwks")
    @classmethod
    def _safe(cls, url: str | None) -> str | None:
        """Requires https, since anyone who can change the keys in transit can forge tokens."""
        if url is not None and not (place := address(url)).is_loopback and place.scheme != "https":
            raise ValueError("must use https, unless it is on this machine")
        return url


class ServeBuildSettings(_Section):
    """Settings for builds that the server's clients request. `allowed` enables these builds. Over HTTP, a caller also
    needs a token with the `build` scope. Repositories are fetched only from `hosts`, because the server may reach
    networks that its callers cannot. Each caller may request up to `per_day` builds a day, and each build may spend up
    to `llm.max_cost`."""

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
    """Settings for runs of `xkg implement` that the server's clients request. `allowed` enables these runs. Over HTTP,
    a caller also needs a token with the `agents` scope. Starter code must come from `serve.build.hosts` or from a
    folder under `serve.roots`. Each caller may request up to `per_day` runs a day, and each run may spend up to
    `llm.max_cost`."""

    allowed: bool = False
    per_day: int = Field(default=8, ge=1)


class ServeRunSettings(_Section):
    """Settings for scripts that the server's clients run in the sandbox, on code from the graph. `allowed` enables
    these scripts. Over HTTP, a caller also needs a token with the `run` scope. Each caller may start up to `per_day`
    runs a day, one at a time, and each run is limited to `seconds`. A worker runs at most `at_once` scripts at a time,
    for all callers combined."""

    allowed: bool = False
    per_day: int = Field(default=200, ge=1)
    seconds: float = Field(default=60, gt=0)
    at_once: int = Field(default=2, ge=1, le=64)


class ServeQuestionSettings(_Section):
    """Settings for questions to the language model while a caller waits, as with `verify`. Because most clients time
    out after a minute or more, a caller waits only `wait_seconds` for the model, or twice as long for a task. A call
    that takes longer continues for at most `llm.seconds`, and its answer is stored for the next request."""

    wait_seconds: float = Field(default=20, gt=0)


class ServeSettings(_Section):
    """`roots` lists the only folders in which clients may use working copies. If the list is empty, no folder is
    allowed. In the environment variable, separate folders with colons (`/a:/b`). If `roots` is None, no folder is
    allowed over HTTP. Over stdio, the folder in which `xkg serve` was started is allowed, unless it contains a home
    folder. `exclude` is a file that lists papers and repositories, one per line (ids, addresses or titles). Answers
    never contain these papers, or papers built from these repositories. `graphs` lists the folders of additional graphs
    to serve (`xkg serve --kg A --kg B`)."""

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
        return tuple(filter(None, value.split(os.pathsep))) if isinstance(value, str) else value


class ImplementSettings(_Section):
    """Limits for `xkg implement`. The agent takes at most `steps` steps. Each question goes first to `llm.code_model`,
    up to `tries` times, then to `llm.stronger_model`, and finally to `llm.expert_model`. A run can call the expert
    model at most `expert_calls` times. The prompt contains the last `memory` steps in full, and one line for each older
    step. An observation of more than `observation` characters is cut in the middle.

    `seconds`, `memory_mb` and `disk_mb` limit each run of the code."""

    steps: int = Field(default=80, ge=1)
    tries: int = Field(default=8, ge=1)
    expert_calls: int = Field(default=3, ge=0)
    memory: int = Field(default=3, ge=1)
    observation: int = Field(default=8000, ge=500)
    seconds: float = Field(default=600, gt=0)
    memory_mb: int = Field(default=4096, ge=64)
    disk_mb: int = Field(default=1024, ge=16)


class Settings(BaseSettings):
    """`kg` is the graph's folder."""

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
    """Reads `xkg.yaml` in the working folder. The working folder may be a clone of somebody else's repository, so the
    file must belong to the current user or root, and cannot turn off the sandbox."""

    def __init__(self, settings_cls: type[BaseSettings]) -> None:
        path = Path("xkg.yaml")
        if path.is_file() and owned_by_another(path.stat()):
            raise ConfigError(f"{path.absolute()} belongs to another user; use another folder, or change the owner")
        super().__init__(settings_cls)
        models = self.yaml_data.get("llm") if isinstance(self.yaml_data, dict) else None
        commands = [
            name
            for name, value in (models.items() if isinstance(models, dict) else ())
            if isinstance(value, str) and value.startswith("command:")
        ]
        if commands:
            raise ConfigError(
                f"setting 'llm.{commands[0]}': a file cannot set a command, as it may come from a repository; "
                "use --llm or the environment"
            )
        sandbox = self.yaml_data.get("sandbox") if isinstance(self.yaml_data, dict) else None
        if isinstance(sandbox, dict) and sandbox.get("runner") == "unsafe-subprocess":
            raise ConfigError(
                "setting 'sandbox.runner': a file cannot turn off the sandbox, as it may come from a repository; "
                "set XKG_SANDBOX__RUNNER=unsafe-subprocess if you are sure"
            )


_CORRECT = "correct it in xkg.yaml, the environment or the call"


def load(**flags: object) -> Settings:
    """Returns the effective settings; flags that are None are ignored. Raises `ConfigError` if a setting is invalid."""
    names = [name.upper() for name in _names(Settings)]
    flat = {f"XKG_{name.replace('.', '_')}": f"XKG_{name.replace('.', '__')}" for name in names}
    for variable in os.environ:
        if flat.get(variable, variable) != variable:
            raise ConfigError(f"{variable} is not a setting; use two underscores: {flat[variable]}")
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
            raise ConfigError(f"{name} is a section, not a value; set one of its settings, such as {own}") from error
        raise ConfigError(f"setting {name!r}: {first['msg']}; {_CORRECT}") from error
    except SettingsError as error:
        raise ConfigError(
            f"the XKG_* environment variables cannot be read: {error}; set them one by one (XKG_EMBEDDING__THREADS)"
        ) from error
    except ConfigError:
        raise
    except Exception as error:  # the YAML reader raises its own exceptions
        reason = " ".join(str(error).split())
        raise ConfigError(
            f"xkg.yaml is not a mapping of settings ({reason}); see docs/reference/settings.md for the allowed settings"
        ) from error


def _unknown_setting(path: Sequence[str]) -> str:
    name = ".".join(path)
    near = difflib.get_close_matches(name, _names(Settings), 1)
    meant = f"the closest is {near[0]}" if near else "docs/reference/settings.md lists all settings"
    return f"there is no setting {name!r}; {meant}; {_CORRECT}"


def _names(model: type[BaseModel], before: str = "") -> list[str]:
    names = []
    for name, field in model.model_fields.items():
        names.append(before + name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            names += _names(field.annotation, f"{before}{name}.")
    return names
