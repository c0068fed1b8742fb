from .by_name import load as load
from .install import add as add
from .install import get as get
from .registry import BUILT_IN as BUILT_IN
from .registry import SOURCES as SOURCES
from .synthesis import synthetic as synthetic
