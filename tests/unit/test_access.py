"""Who may do what: roles, bindings, scopes, secrets."""

import errno
from pathlib import Path
from typing import Any

import pytest

from muster.access.keyring import Keyring
from muster.access.local_token import local_token
from muster.access.permissions import ALLOWED, Permission
from muster.access.principal import Principal, may, may_grant, may_somewhere, teams_with
from muster.access.secrets import digest_of, new_secret, token_id
from muster.access.shared_account import shared_account_warning
from muster.model.access import EVERY_TEAM, Binding, Role, Token, covers
from muster.model.errors import Unauthenticated, Unavailable
from muster.model.ids import TeamPath, TokenId
from muster.model.limits import TOKENS_REMEMBERED_MS, TOKENS_TRUSTED_MS
from tests.api.ports_in_memory import Store, Tokens

NLP, PRE, VISION = TeamPath("nlp"), TeamPath("nlp/pre"), TeamPath("vision")


def a_principal(role: Role, team: TeamPath = NLP, scopes: tuple[str, ...] = ()) -> Principal:
    return Principal(name="ada", bindings=(Binding(role=role, team=team),), scopes=scopes)


def test_each_role_allows_what_the_one_before_does_but_an_operator_makes_no_tokens() -> None:
    assert ALLOWED[Role.VIEWER] < ALLOWED[Role.MEMBER] < ALLOWED[Role.LEAD] < ALLOWED[Role.ADMIN]
    assert ALLOWED[Role.LEAD] - ALLOWED[Role.OPERATOR] == {Permission.TOKENS_CHANGE}
    assert ALLOWED[Role.ADMIN] == frozenset(Permission)


@pytest.mark.parametrize(
    ("team", "allowed"), [(NLP, True), (PRE, True), (VISION, False), (TeamPath("nlpx"), False), (EVERY_TEAM, False)]
)
def test_a_role_on_a_team_holds_on_the_team_and_below_it(team: TeamPath, allowed: bool) -> None:
    assert may(a_principal(Role.MEMBER), Permission.JOBS_SUBMIT, team) is allowed
    assert covers(NLP, team) is allowed


def test_every_role_sees_the_cluster_and_no_role_on_a_team_changes_it() -> None:
    viewer = a_principal(Role.VIEWER)
    assert may(viewer, Permission.CLUSTER_SEE)
    assert not may(viewer, Permission.NODES_CHANGE)
    assert not may(a_principal(Role.ADMIN, NLP), Permission.NODES_CHANGE)
    assert not may_somewhere(a_principal(Role.OPERATOR, NLP), Permission.JOBS_SEE)
    assert not may(Principal(name="nobody", bindings=()), Permission.CLUSTER_SEE)


def test_scopes_only_take_away() -> None:
    narrow = a_principal(Role.LEAD, scopes=(Permission.JOBS_SEE.value, Permission.AUDIT_SEE.value))
    assert may(narrow, Permission.JOBS_SEE, PRE)
    assert not may(narrow, Permission.JOBS_SUBMIT, PRE)
    assert not may(narrow, Permission.AUDIT_SEE)
    assert teams_with(narrow, Permission.JOBS_SUBMIT) == ()


def test_teams_are_named_once_however_they_overlap() -> None:
    roles = (Binding(role=Role.VIEWER, team=team) for team in (PRE, NLP, VISION))
    several = Principal(name="ada", bindings=tuple(roles))
    assert teams_with(several, Permission.JOBS_SEE) == (NLP, VISION)
    everywhere = Principal(name="ada", bindings=(*several.bindings, Binding(role=Role.VIEWER)))
    assert teams_with(everywhere, Permission.JOBS_SEE) == (EVERY_TEAM,)


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("team", [NLP, PRE, VISION, EVERY_TEAM])
@pytest.mark.parametrize("giver", [(Role.LEAD, NLP), (Role.ADMIN, EVERY_TEAM), (Role.OPERATOR, EVERY_TEAM)])
def test_what_may_be_given_away_allows_nothing_that_the_giver_may_not(
    role: Role, team: TeamPath, giver: tuple[Role, TeamPath]
) -> None:
    maker, made = a_principal(*giver), Principal(name="new", bindings=(Binding(role=role, team=team),))
    if may_grant(maker, made.bindings, ()):
        for permission in Permission:
            for where in (NLP, PRE, VISION, EVERY_TEAM):
                assert may(maker, permission, where) or not may(made, permission, where)
    else:
        assert not (giver[0] is Role.ADMIN and (team == EVERY_TEAM or role not in (Role.ADMIN, Role.OPERATOR)))


def test_secrets_are_long_different_and_known_by_their_digest() -> None:
    first, second = new_secret(), new_secret()
    assert first.text != second.text
    assert len(first.text) == len("muster_") + 12 + 1 + 43
    assert token_id(first.text) == first.id
    assert first.digest == digest_of(first.text)
    assert first.text not in repr(first)
    assert token_id("muster_xyz_1") is None


def test_a_keyring_knows_only_whole_tokens_that_are_still_good() -> None:
    tokens, secret = Tokens(Store()), new_secret()
    token = Token(id=secret.id, name="ada", digest=secret.digest, bindings=(), created_ms=0, expires_ms=100)
    tokens.add(token)
    keyring = Keyring(tokens)
    assert keyring.recall(secret.text, 1) is None
    assert keyring.identify(secret.text, 1).name == "ada"
    assert keyring.recall(secret.text, 2) is not None
    for wrong in ("", "muster", secret.text[:-1], secret.text + "x", new_secret().text):
        with pytest.raises(Unauthenticated):
            keyring.identify(wrong, 1)
    with pytest.raises(Unauthenticated, match="expired"):
        keyring.recall(secret.text, 100)
    keyring.revoke(TokenId(secret.id), 3)
    assert keyring.recall(secret.text, 4) is None
    with pytest.raises(Unauthenticated, match="any more"):
        keyring.identify(secret.text, 4)


def test_a_token_is_remembered_for_longer_while_the_store_cannot_be_asked() -> None:
    tokens, secret = Tokens(Store()), new_secret()
    end_ms = TOKENS_REMEMBERED_MS + TOKENS_TRUSTED_MS
    tokens.add(Token(id=secret.id, name="ada", digest=secret.digest, bindings=(), created_ms=0, expires_ms=end_ms))
    keyring = Keyring(tokens)
    assert keyring.recall(secret.text, 0, store_answers=False) is None
    keyring.identify(secret.text, 0)
    later_ms = end_ms - 1
    assert keyring.recall(secret.text, later_ms) is None
    assert keyring.recall(secret.text, later_ms, store_answers=False) is not None
    assert keyring.recall(secret.text, end_ms, store_answers=False) is None
    keyring.revoke(TokenId(secret.id), later_ms)
    assert keyring.recall(secret.text, later_ms, store_answers=False) is None


def test_a_token_that_is_revoked_while_it_is_looked_up_is_not_remembered() -> None:
    secret = new_secret()
    store = Tokens(Store())
    store.add(
        Token(
            id=secret.id,
            name="robot",
            digest=secret.digest,
            bindings=(Binding(role=Role.MEMBER, team=EVERY_TEAM),),
            created_ms=0,
        )
    )
    keyring = Keyring(store)
    find = store.find

    def found_just_before(digest: str) -> Token | None:
        found = find(digest)
        keyring.revoke(secret.id, 1)
        return found

    store.find = found_just_before  # type: ignore[method-assign]
    keyring.identify(secret.text, 1)
    assert keyring.recall(secret.text, 2) is None


def a_token(name: str, role: Role = Role.MEMBER, **fields: Any) -> Token:
    bindings = (Binding(role=role, team=NLP),)
    return Token(id=TokenId(name), name=name, digest="", bindings=bindings, created_ms=0, **fields)


def test_that_jobs_of_several_subjects_share_one_account_is_said() -> None:
    warning = shared_account_warning([a_token("ben"), a_token("ada"), a_token("ada")], 5)
    assert warning.startswith("2 subjects may submit jobs (ada, ben), and all jobs run in the account of this server")
    crowd = shared_account_warning([a_token(f"u{number}") for number in range(8)], 5)
    assert "(u0, u1, u2, u3, u4 and 3 more)" in crowd


@pytest.mark.parametrize(
    "other",
    [
        a_token("ada"),
        a_token("ci", subject="ada"),
        a_token("ben", Role.VIEWER),
        a_token("ben", scopes=("jobs.see",)),
        a_token("ben", revoked_ms=1),
        a_token("ben", expires_ms=5),
    ],
    ids=[
        "the same subject",
        "the same subject by another name",
        "a viewer",
        "narrowed to looking",
        "revoked",
        "expired",
    ],
)
def test_nothing_is_said_while_only_one_subject_may_submit(other: Token) -> None:
    assert shared_account_warning([a_token("ada"), other], 5) == ""
    assert shared_account_warning([], 5) == ""
    assert "ben" in shared_account_warning([a_token("ada"), other, a_token("ben")], 5)


def test_a_token_that_cannot_be_kept_is_told_in_a_line_and_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    tokens = Tokens(Store())
    monkeypatch.setattr("muster.access.local_token.write_private", full)
    with pytest.raises(Unavailable, match="No space left on device; make room"):
        local_token(tmp_path, tokens, 1)
    assert not tokens.all()
    monkeypatch.undo()
    assert local_token(tmp_path, tokens, 1)
