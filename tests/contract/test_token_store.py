"""What every store of tokens must do."""

from collections.abc import Sequence

import pytest

from muster.model.access import EVERY_TEAM, Binding, Role, Token
from muster.model.audit import AuditEntry
from muster.model.errors import Conflict, NotFound, Unauthenticated
from muster.model.ids import TeamPath, TokenId
from muster.model.records import evolve
from muster.store.sql import SqlStore

ENTRY = AuditEntry(at_ms=1, by="root", action="tokens.change", subject="t1")


def a_token(name: str = "t1", *, digest: str = "d1", created_ms: int = 1) -> Token:
    return Token(
        id=TokenId(name),
        name="ann",
        digest=digest,
        bindings=(
            Binding(role=Role.LEAD, team=TeamPath("nlp/pretraining")),
            Binding(role=Role.VIEWER, team=EVERY_TEAM),
        ),
        created_ms=created_ms,
        expires_ms=99,
        scopes=("jobs.see", "jobs.submit"),
    )


def test_a_token_is_found_by_its_digest(store: SqlStore) -> None:
    store.tokens.add(a_token())
    assert store.tokens.find("d1") == a_token()
    assert store.tokens.find("d2") is None


def test_all_tokens_are_listed_oldest_first(store: SqlStore) -> None:
    younger, older = a_token("t1", digest="d1", created_ms=5), a_token("t2", digest="d2", created_ms=3)
    store.tokens.add(younger)
    store.tokens.add(older)
    assert list(store.tokens.all()) == [older, younger]


@pytest.mark.parametrize("other", [a_token("t1", digest="d2"), a_token("t2", digest="d1")])
def test_an_id_or_a_secret_that_is_taken_is_refused(store: SqlStore, other: Token) -> None:
    store.tokens.add(a_token())
    with pytest.raises(Conflict):
        store.tokens.add(other, audit=[ENTRY])
    assert list(store.tokens.all()) == [a_token()]
    assert store.audit.entries(0, 10) == []


def test_a_revoked_token_is_still_found_and_says_since_when(store: SqlStore) -> None:
    store.tokens.add(a_token())
    assert [each.revoked_ms for each in store.tokens.revoke(TokenId("t1"), 7)] == [7]
    assert [each.revoked_ms for each in store.tokens.revoke(TokenId("t1"), 9)] == [7]
    found = store.tokens.find("d1")
    assert found is not None
    assert found.revoked_ms == 7
    assert found.bindings == a_token().bindings


def test_an_unknown_token_cannot_be_revoked(store: SqlStore) -> None:
    with pytest.raises(NotFound, match="t1"):
        store.tokens.revoke(TokenId("t1"), 7)


def test_changes_of_tokens_are_audited_with_them(store: SqlStore) -> None:
    store.tokens.add(a_token(), audit=[ENTRY])
    store.tokens.revoke(TokenId("t1"), 7, audit=lambda _: [ENTRY])
    assert [each.seq for each in store.audit.entries(0, 10)] == [1, 2]
    assert store.audit.verify().is_whole


def test_a_token_is_revoked_with_all_that_were_made_with_it(store: SqlStore) -> None:
    makers = {"t1": None, "t2": TokenId("t1"), "t3": TokenId("t2"), "t4": None}
    for at, (name, maker) in enumerate(makers.items()):
        made = evolve(a_token(name, digest=name, created_ms=at), subject=f"nlp/{name}", maker=maker)
        store.tokens.add(made)
        assert store.tokens.find(name) == made
    store.tokens.revoke(TokenId("t3"), 5)
    assert [(each.id, each.revoked_ms) for each in store.tokens.revoke(TokenId("t1"), 7)] == [
        ("t1", 7),
        ("t2", 7),
        ("t3", 5),
    ]
    assert [each.id for each in store.tokens.all() if each.revoked_ms is None] == ["t4"]
    assert store.audit.verify().is_whole


def test_the_audit_of_a_revocation_is_asked_about_every_token_that_is_revoked_with_it(store: SqlStore) -> None:
    asked: list[list[tuple[str, int | None]]] = []

    def account(tree: Sequence[Token]) -> list[AuditEntry]:
        asked.append([(each.id, each.revoked_ms) for each in tree])
        return [evolve(ENTRY, subject=each.id) for each in tree]

    store.tokens.add(a_token())
    store.tokens.add(evolve(a_token("t2", digest="d2", created_ms=2), maker=TokenId("t1")))
    store.tokens.revoke(TokenId("t2"), 5)
    store.tokens.revoke(TokenId("t1"), 7, audit=account)
    assert asked == [[("t1", None), ("t2", 5)]]
    assert [each.entry.subject for each in store.audit.entries(0, 10)] == ["t1", "t2"]


def test_no_token_is_made_with_one_that_was_revoked_meanwhile(store: SqlStore) -> None:
    store.tokens.add(a_token())
    store.tokens.revoke(TokenId("t1"), 7)
    for maker in ("t1", "unknown"):
        with pytest.raises(Unauthenticated):
            store.tokens.add(evolve(a_token("t2", digest="d2"), maker=TokenId(maker)), audit=[ENTRY])
    assert [each.id for each in store.tokens.all()] == ["t1"]
    assert store.audit.entries(0, 10) == []
