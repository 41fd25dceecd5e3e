"""The table of routes: each names its permission, and only a few none."""

from workers.console.routes import PAGES

OPEN = {("GET", "/login"), ("POST", "/login"), ("GET", "/login/link"), ("POST", "/login/link")} | {
    ("GET", "/login/provider"),
    ("GET", "/login/provider/back"),
}


def test_only_the_login_is_open_to_all() -> None:
    assert {(page.method, page.path) for page in PAGES if page.permission is None} == OPEN


def test_whatever_changes_something_is_asked_for_by_post() -> None:
    assert {page.method for page in PAGES} == {"GET", "POST"}


def test_no_route_is_named_twice() -> None:
    places = [(page.method, page.path) for page in PAGES]
    assert len(places) == len(set(places))
