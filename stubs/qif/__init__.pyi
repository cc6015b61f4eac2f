"""What the tests use of qif, which ships no types."""

from . import channel as channel
from . import mechanism as mechanism
