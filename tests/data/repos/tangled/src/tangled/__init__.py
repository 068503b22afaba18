"""Re-exports, so that users never see the parts."""

from .model import Model, build as build_model
from .parts import *
from . import registry

__all__ = ["Model", "build_model", "registry", "scale"]
