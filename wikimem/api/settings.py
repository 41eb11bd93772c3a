"""From the configuration to what the parts of the program are made with."""

from wikimem.config import RetrievalOptions
from wikimem.search.results import RetrievalSettings


def retrieval_settings(chosen: RetrievalOptions) -> RetrievalSettings:
    """Return what ranking and cutting go by."""
    return RetrievalSettings(
        fusion=chosen.fusion,
        fusion_weight=chosen.fusion_weight,
        temperature_weight=chosen.temperature_weight,
        link_policy=chosen.link_policy,
        budget_tokens=chosen.budget_tokens,
    )
