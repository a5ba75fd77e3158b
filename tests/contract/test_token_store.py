"""What every store of tokens must do."""

import pytest

from muster.model.access import EVERY_TEAM, Binding, Role, Token
from muster.model.audit import AuditEntry
from muster.model.errors import Conflict, NotFound
from muster.model.ids import TeamPath, TokenId
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
    assert store.tokens.revoke(TokenId("t1"), 7).revoked_ms == 7
    assert store.tokens.revoke(TokenId("t1"), 9).revoked_ms == 7
    found = store.tokens.find("d1")
    assert found is not None
    assert found.revoked_ms == 7
    assert found.bindings == a_token().bindings


def test_an_unknown_token_cannot_be_revoked(store: SqlStore) -> None:
    with pytest.raises(NotFound, match="t1"):
        store.tokens.revoke(TokenId("t1"), 7)


def test_changes_of_tokens_are_audited_with_them(store: SqlStore) -> None:
    store.tokens.add(a_token(), audit=[ENTRY])
    store.tokens.revoke(TokenId("t1"), 7, audit=[ENTRY])
    assert [each.seq for each in store.audit.entries(0, 10)] == [1, 2]
    assert store.audit.verify().is_whole
