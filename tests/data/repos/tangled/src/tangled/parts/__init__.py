from .scaling import *
from .loading import load
