"""The table of measures: the paper's twelve, and two extensions. A row says all that is its own."""

from math import exp, inf, pi
from typing import Any

from prefmover.measures import agreement, corated, distribution, item_aware, opinions
from prefmover.measures import pmd as mover
from prefmover.measures.measure import PUBLISHED, TABLE_1, Convention, Measure, Style, register_measure

# Okabe and Ito's colors, which people with any color vision can tell apart.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, RED, PURPLE = "#B8A800", "#0072B2", "#D55E00", "#CC79A7"


def _bcf_conventions(normalized: bool) -> dict[str, Convention]:
    def convention(summary: str, **options: Any) -> Convention:
        return Convention(summary, {"normalized": normalized, **options})

    return {
        PUBLISHED: convention("loc_cor over the rated items; a flat user adds nothing to J"),
        "median": convention(
            "loc_med: ratings centered on the middle of the scale, divided by the L2 norms", local="median"
        ),
        TABLE_1: convention(
            "mean and deviation of the zero-filled row over all items; loc = 1 for a flat user",
            local="zero-filled",
            flat="one",
        ),
    }


BREESE = "Breese, Heckerman, Kadie: Empirical analysis of predictive algorithms, UAI 1998"
SHARDANAND = "Shardanand, Maes: Social information filtering, CHI 1995"
KOUTRIKA = "Koutrika, Bercovitz, Garcia-Molina: FlexRecs, SIGMOD 2009"
LIU = "Liu, Hu, Mian, Tian, Zhu: A new user similarity model, Knowledge-Based Systems 56, 2014"
BOBADILLA = (
    "Bobadilla, Serradilla, Bernal: A new collaborative filtering metric, Knowledge-Based Systems 23, 2010"
)
PATRA = "Patra, Launonen, Ollikainen, Nandi: A new similarity measure, Knowledge-Based Systems 82, 2015"
WANG = "Wang, Deng, Gao, Zhang: A hybrid user similarity model, Information Sciences 418, 2017"
PREFMOVER = "prefmover, an extension (docs/measures.md)"
MENG = "Meng, Dai, Yan, Cheng, Liu, Guo, Liao, Chen: PMD, ECIR 2020, doi 10.1007/978-3-030-45442-5_34"

_SIG_1 = 1 / (1 + exp(-1))

ROWS = [
    Measure(
        "cos", "COS", "The angle between the ratings of co-rated items.",
        corated.cosine, corated.cosine_breakdown, (0, 1), Style(SKY, "--", "s"), BREESE,
        needs_overlap=True, fills_upper_triangle=True,
    ),
    Measure(
        "pcc", "PCC", "The correlation of the ratings of co-rated items.",
        corated.pearson, corated.pearson_breakdown, (-1, 1), Style(ORANGE, "--", "^"), BREESE,
        {
            PUBLISHED: Convention("centered on the mean of all of a user's ratings"),
            "co-rated-means": Convention(
                "centered on the mean over the co-rated items", {"means": "co-rated"}
            ),
        },
        needs_overlap=True, fills_upper_triangle=True,
    ),
    Measure(
        "msd", "MSD", "The mean squared difference of the ratings of co-rated items.",
        corated.mean_squared_difference, corated.msd_breakdown, (0, 1), Style(GREEN, "--", "D"), SHARDANAND,
        {PUBLISHED: Convention("differences as a share of the scale")},
        larger_is_closer=False, needs_overlap=True, fills_upper_triangle=True, weight="one-minus",
        is_zero_for_itself=True,
    ),
    Measure(
        "jaccard", "Jaccard", "The share of all items rated by either user that both rated.",
        corated.jaccard, corated.jaccard_breakdown, (0, 1), Style(PURPLE, "--", "v"), KOUTRIKA,
        fills_upper_triangle=True,
    ),
    Measure(
        "urp", "URP", "The similarity of the means and standard deviations of two users' ratings.",
        distribution.urp, distribution.urp_breakdown, (0, 0.5), Style(YELLOW, "--", "P"), LIU,
    ),
    Measure(
        "jmsd", "JMSD", "Jaccard times 1 - MSD.",
        corated.jaccard_msd, corated.jmsd_breakdown, (0, 1), Style(BLUE, "--", "X"), BOBADILLA,
        needs_overlap=True, fills_upper_triangle=True,
    ),
    Measure(
        "nhsm", "NHSM", "Proximity, significance and singularity of co-rated ratings, times overlap and URP.",
        distribution.nhsm, distribution.nhsm_breakdown, (0, 1 / 8), Style(RED, "--", "<"), LIU,
        {
            PUBLISHED: Convention("overlap n / (|I_u| |I_v|)", {"overlap": "product"}),
            TABLE_1: Convention("Jaccard as the overlap", {"overlap": "union"}),
        },
        needs_overlap=True, fills_upper_triangle=True, uses_others=True,
    ),
    Measure(
        "bcf", "BCF", "Jaccard plus all pairs of ratings, weighted by item similarity.",
        item_aware.bcf, item_aware.bcf_breakdown, (-inf, inf), Style(SKY, "-", ">"), PATRA,
        _bcf_conventions(normalized=False), needs_geometry=True,
    ),
    Measure(
        "n-bcf", "N-BCF", "BCF with the mean over all pairs of ratings in place of their sum.",
        item_aware.bcf, item_aware.bcf_breakdown, (-1, 2), Style(BLUE, "-", "h"), MENG,
        _bcf_conventions(normalized=True), needs_geometry=True,
    ),
    Measure(
        "husm", "HUSM", "NHSM's factors of all pairs of ratings, weighted by item similarity.",
        item_aware.husm, item_aware.husm_breakdown, (0, inf), Style(ORANGE, "-", "*"), WANG,
        {PUBLISHED: Convention("as defined", {"normalized": False})},
        needs_geometry=True, symmetric=False, uses_others=True,
    ),
    Measure(
        "n-husm", "N-HUSM", "HUSM with the mean over all pairs of ratings in place of their sum.",
        item_aware.husm, item_aware.husm_breakdown, (0, _SIG_1 / 8), Style(RED, "-", "p"), MENG,
        {PUBLISHED: Convention("as defined", {"normalized": True})},
        needs_geometry=True, symmetric=False, uses_others=True,
    ),
    Measure(
        "pmd", "PMD", "The least cost of moving one user's preferences onto the other's.",
        mover.preference_mover, mover.pmd_breakdown, (0, pi / 2), Style(BLACK, "-", "o"), MENG,
        {
            PUBLISHED: Convention(
                "exact, with the distances of the geometry (the paper: arccos s)", {"transport": "exact"}
            ),
            TABLE_1: Convention(
                "entropic (Sinkhorn, ε = .05), d = 1 - s", {"transport": "entropic"}, practical=False
            ),
        },
        larger_is_closer=False, metric=True, needs_geometry=True, weight="exponential(4)",
        search="cascade", fills_upper_triangle=True, rows_per_task=1, space=mover.item_space,
        is_zero_for_itself=True,
    ),
    Measure(
        "pmd-agreement", "PMD-agreement", "PMD plus disagreement on the items that both rated.",
        agreement.agreement, agreement.agreement_breakdown, (0, agreement.LARGEST), Style(PURPLE, "-", "D"),
        PREFMOVER,
        larger_is_closer=False, needs_geometry=True, weight="exponential(2)",
        search="cascade", fills_upper_triangle=True, rows_per_task=1, extension=True,
        space=mover.item_space, extra_term=agreement.agreement_term,
    ),
    Measure(
        "pmd-opinions", "PMD-opinions", "PMD between items with their ratings: a fan is not a critic.",
        opinions.opinions, opinions.opinions_breakdown, (0, 5 * pi / 8), Style(GREEN, "-", "s"), PREFMOVER,
        larger_is_closer=False, metric=True, needs_geometry=True, weight="exponential(4)",
        search="cascade", fills_upper_triangle=True, rows_per_task=1, extension=True,
        space=opinions.opinion_space, is_zero_for_itself=True,
    ),
]  # fmt: skip

for _row in ROWS:
    register_measure(_row)
