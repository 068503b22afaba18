from hypothesis import settings

# A busy machine is no failure.
settings.register_profile("xkg", deadline=None)
settings.load_profile("xkg")
