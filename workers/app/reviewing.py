"""What people do about reviews, of the open application: one by one, or many at once."""

from workers.app.composition import App
from workers.claims.bulk_desk import BulkDesk
from workers.claims.bulk_runner import BulkRunner
from workers.claims.incidents import StuckClaims
from workers.claims.protocols import Protocols
from workers.claims.reviewing import ClaimReviews
from workers.upkeep.policy_desk import PolicyDesk
from workers.upkeep.policy_trials import PolicyTrials
from workers.upkeep.trial_runs import PolicyRoom, TrialRuns


def claim_reviews(app: App) -> ClaimReviews:
    """Decides reviews, whoever asks."""
    protocols = Protocols(app.store, app.payer_limits, app.cipher, app.channels, app.clock, app.observe)
    return ClaimReviews(app.store, app.messages, app.intake, protocols, app.clock)


def bulk_desk(app: App) -> BulkDesk:
    """Takes orders about many claims."""
    return BulkDesk(app.store, app.payer_limits, app.clock)


def bulk_runner(app: App) -> BulkRunner:
    """Carries them out."""
    return BulkRunner(app.store, claim_reviews(app), StuckClaims(app.store, app.commands), app.clock)


def policy_room(app: App) -> PolicyRoom:
    """Shows, tries and adopts policies."""
    desk = PolicyDesk(app.store, app.policy, app.clock)
    trials = PolicyTrials(app.store, app.clock, app.payer_limits)
    return PolicyRoom(desk, trials, TrialRuns(), app.settings.idempotency)
