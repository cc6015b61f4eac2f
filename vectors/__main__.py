"""Make the vectors, or check that they are those that would be made.

python -m vectors           write them
python -m vectors --check   compare with what is written, and end with 1 where they differ
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from vectors.making import FOLDER, draws_text
from vectors.others import OTHERS
from vectors.surveys import MECHANISMS


def main(arguments: Sequence[str]) -> int:
    """Write or compare all files."""
    made = {f"draws/{kind}.json": draws_text(kind) for kind in MECHANISMS}
    made |= {name: make() for name, make in OTHERS.items()}
    if "--check" not in arguments:
        for name, text in made.items():
            (FOLDER / name).write_text(text, encoding="utf-8")
        return 0
    written = {name: (FOLDER / name).read_text(encoding="utf-8") if (FOLDER / name).exists() else "" for name in made}
    stale = [name for name, text in made.items() if written[name] != text]
    if stale:
        print(f"Not what would be made: {', '.join(stale)}. Make them again with: python -m vectors")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
