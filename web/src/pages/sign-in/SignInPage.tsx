import type { ReactNode } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useEffect, useState, type SubmitEvent } from "react";

import { signIn, type SignInWith } from "../../session/session";

export type SignInSearch = { next?: string | undefined; ended?: string | undefined };

/** Signs in with the code behind `#`, or with a token that is pasted. */
export function SignInPage(): ReactNode {
  const kept = useQueryClient();
  const [problem, setProblem] = useState("");
  const [token, setToken] = useState("");
  const search: SignInSearch = useSearch({ strict: false });

  const enter = (given: SignInWith) => {
    signIn(given).then(
      () => {
        // The page is loaded anew, so that nothing is left of what somebody else has seen in it before.
        location.replace(safePlace(search.next));
      },
      (error: unknown) => {
        setProblem(error instanceof Error ? error.message : String(error));
      },
    );
  };

  useEffect(() => {
    document.title = "Sign in · Muster";
    // A browser may come back to this page as it was.
    kept.clear();
    const redeem = () => {
      const code = location.hash.slice(1);
      if (code) {
        // The code leaves the address bar and the history before it is used.
        history.replaceState(null, "", `/sign-in${location.search}`);
        enter({ code });
      }
    };
    redeem();
    // A link that is pasted while this page is open changes nothing but what is behind `#`.
    window.addEventListener("hashchange", redeem);
    return () => {
      window.removeEventListener("hashchange", redeem);
    };
    // Once, when the page opens.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, []);

  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    enter({ token: token.trim() });
  };

  return (
    <main>
      <form className="alone sheet" onSubmit={submit}>
        <h1>Sign in to Muster</h1>
        {search.ended && <p className="notice">Your session has ended. Sign in again to go on.</p>}
        {problem && (
          <p className="notice bad" role="alert">
            {problem}
          </p>
        )}
        <p>
          On a machine where <code>muster</code> works, run <code>muster open</code>: it prints a link that signs you in.
        </p>
        <label htmlFor="token">Or paste a token</label>
        <input
          id="token"
          type="password"
          autoComplete="off"
          value={token}
          onChange={(event) => {
            setToken(event.target.value);
          }}
        />
        <button className="primary" disabled={!token.trim()}>
          Sign in
        </button>
      </form>
    </main>
  );
}

/** A page of this server to go on with; never another server. */
export function safePlace(wanted: string | undefined): string {
  return wanted !== undefined && /^\/(?![/\\])/.test(wanted) && !wanted.startsWith("/sign-in") ? wanted : "/";
}
