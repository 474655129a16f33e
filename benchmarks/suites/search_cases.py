"""The cases of the suite `search`: sets, splits, who takes part, and targets."""

from dataclasses import dataclass, field

from benchmarks.competitors.searches import BFGS, FOLDS, GRID, SPAN, TPE, Box

EIGHT = "The eight sets"
ARTIFICIAL = "Artificial sets"
ARD = "Two features that matter and eight that do not"
MULTI = "More than two classes"
POLY = "Polynomial kernel, degree searched too"
GROUPS = (EIGHT, ARTIFICIAL, ARD, MULTI, POLY)

# Pooled over the eight sets
MAX_LOSS = 0.3  # points of test error above the grid
MIN_RATIO = 8.0  # of the grid's CPU seconds
# banana with eight columns of noise
ARD_ERROR, ARD_SECONDS, ISOTROPIC_ERROR = 18.0, 10.0, 35.0

# The expensive peers see fewer splits; differences are to the grid on the same ones.
FEWER = {FOLDS: 3, TPE: 3}
FEW = {FOLDS: 1, TPE: 1}
EVERYBODY = (GRID, SPAN, BFGS, FOLDS, TPE)
PER_FEATURE = ", gamma per feature"
GAUSSIAN = Box()


@dataclass(frozen=True)
class Entry:
    """One search on one case."""

    search: str  # name of the file's search
    splits: int
    box: Box = GAUSSIAN
    suffix: str = ""

    @property
    def name(self) -> str:
        return self.search + self.suffix


@dataclass(frozen=True)
class Case:
    """A set, how often it is split, and who searches."""

    data: str
    group: str
    splits: int
    searches: tuple[str, ...] = EVERYBODY
    limits: dict[str, int] = field(default_factory=lambda: dict(FEWER))
    box: Box = GAUSSIAN
    quick: bool = False

    @property
    def name(self) -> str:
        return f"{self.data} (poly)" if self.group == POLY else self.data

    def entries(self) -> list[Entry]:
        """Who takes part, in the order of their turns."""
        found = [
            Entry(name, min(self.splits, self.limits.get(name, self.splits)), self.box)
            for name in self.searches
        ]
        if self.group == ARD:
            scaled = self.box._replace(per_feature=True)
            found += [
                Entry(name, self.splits, scaled, PER_FEATURE) for name in (SPAN, BFGS)
            ]
        return found


def _eight() -> list[Case]:
    names = ("banana", "waveform", "ringnorm", "german", "heart", "thyroid")
    quick = ("banana", "heart", "thyroid")
    cases = [Case(name, EIGHT, 20, quick=name in quick) for name in names]
    cases.append(Case("breast-cancer", EIGHT, 20))
    return [*cases, Case("image", EIGHT, 5, limits=FEW)]


# A polynomial of degree 4 is ill-conditioned at both far ends of the Gaussian's box.
POLY_BOX = Box((2.0**-5, 2.0**8), (2.0**-10, 2.0**0), (2, 3, 4), levels=5)

CASES = (
    *_eight(),
    *(
        Case(name, ARTIFICIAL, 5, limits=FEW, quick=name == "two rings")
        for name in ("balanced", "unbalanced", "checkerboard", "two curves",
                     "two rings", "crossed rings")
    ),
    Case("banana + 8 noise", ARD, 5, (GRID, SPAN), quick=True),
    *(Case(name, MULTI, 5, limits=FEW, quick=name == "iris")
      for name in ("iris", "wine")),
    Case("digits", MULTI, 2, limits=FEW),
    *(
        Case(name, POLY, 3, (GRID, SPAN, FOLDS, TPE), FEW, POLY_BOX,
             quick=name == "thyroid")
        for name in ("thyroid", "waveform")
    ),
)  # fmt: skip
