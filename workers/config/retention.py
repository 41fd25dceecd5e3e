"""How long each kind of data is kept."""

from datetime import timedelta

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from domain.retention import LOG_YEARS_AT_LEAST, YEAR, Periods
from workers.config.topic import Topic

YEARS_AT_MOST = 1_000


class RetentionSettings(Topic):
    """Years and days, with the least that the rules allow; and who removes, where workers may not."""

    model_config = SettingsConfigDict(env_prefix="RETENTION_")

    database_url: str | None = Field(default=None, repr=False)
    log_years: float = Field(default=LOG_YEARS_AT_LEAST, ge=LOG_YEARS_AT_LEAST, le=YEARS_AT_MOST)
    history_years: float = Field(default=5, ge=5, le=YEARS_AT_MOST)
    error_analysis_years: float | None = Field(default=None, gt=0, le=YEARS_AT_MOST)
    payload_days: float = Field(default=90, gt=0, le=YEARS_AT_MOST * 365)
    published_days: float = Field(default=30, gt=0, le=YEARS_AT_MOST * 365)
    free_text_days: float = Field(default=30, gt=0, le=YEARS_AT_MOST * 365)

    def periods(self) -> Periods:
        """The same as periods of time."""
        years = self.error_analysis_years
        return Periods(
            log=self.log_years * YEAR,
            history=self.history_years * YEAR,
            error_analysis=None if years is None else years * YEAR,
            payload=timedelta(days=self.payload_days),
            published=timedelta(days=self.published_days),
            free_text=timedelta(days=self.free_text_days),
        )
