from . import d_privacy as d_privacy
