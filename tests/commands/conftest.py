from tests.build.curation.conftest import scholarly, world  # noqa: F401  # fixtures
